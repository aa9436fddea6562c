//! Forms that say no more than the protocol allows (ELIC-4): a flat object of texts, numbers, booleans and choices.

use mcp_core::Peer;
use mcp_core::question::Question;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::flat::{self, Filled};
use super::{Ask, Said, sealed};
use crate::check::{Options, Rules};

/// A form for the person at the client to fill in (ELIC-3). Without fields it asks for a yes or no, which is all that
/// [`Asked`](super::Asked) says.
///
/// ```
/// use mcp_server::ask::{Field, elicit};
///
/// let form = elicit("Who are you?")
///     .field("name", Field::text().title("Name").max_length(50).required())
///     .field("age", Field::integer().min(0).max(150))
///     .field("colour", Field::choice(["red", "green"]).default("red"))
///     .field("plan", Field::choice([("s", "Small"), ("l", "Large")]).required());
/// ```
///
/// It cannot ask for what must not be asked in a form (ELIC-1): passwords, keys, tokens, payment data. For these send the person to
/// a page of yours, with [`elicit_url`](super::elicit_url).
pub fn elicit(message: impl Into<String>) -> Form {
    Form { message: message.into(), fields: Vec::new() }
}

/// A form whose fields are named one by one: see [`elicit`].
#[derive(Clone, Debug)]
#[must_use = "a question is asked with `Ctx::ask`"]
pub struct Form {
    message: String,
    fields: Vec<(String, Field)>,
}

impl Form {
    /// One more field. It may be left empty unless it is [`required`](TextField::required).
    pub fn field(mut self, name: impl Into<String>, field: impl Into<Field>) -> Self {
        self.fields.push((name.into(), field.into()));
        self
    }

    /// The schema that clients get (ELIC-4).
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its field. Asking then fails in the same way: a test that builds the form finds
    /// it.
    pub fn schema(&self) -> Result<Value, String> {
        let mut faults = Vec::new();
        for (at, (name, field)) in self.fields.iter().enumerate() {
            faults.extend(flat::secret(name));
            faults.extend(field.kind.faults().map(|fault| format!("`{name}`: {fault}")));
            if self.fields[..at].iter().any(|(other, _)| other == name) {
                faults.push(format!("`{name}`: there are two fields of that name"));
            }
        }
        faults.extend(self.rules().err().unwrap_or_default());
        if faults.is_empty() { Ok(self.object(|_| true)) } else { Err(faults.join("; ")) }
    }

    /// What an answer is held against; defaults are, too.
    fn rules(&self) -> Result<Rules, Vec<String>> {
        // A word of 2025-06-18 alone, and none of JSON Schema.
        let schema = self.object(|key| key != "enumNames");
        Rules::compile(&schema, &[], Options { whole: true, ..Options::default() })
    }

    fn object(&self, says: impl Fn(&str) -> bool) -> Value {
        let said = |field: &Field| -> Value {
            field.schema.iter().filter(|(key, _)| says(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
        };
        let properties = self.fields.iter().map(|(name, field)| (name.clone(), said(field))).collect();
        let required = self.fields.iter().filter(|(_, field)| field.required).map(|(name, _)| name.as_str().into());
        flat::object(properties, required.collect())
    }
}

impl sealed::Sealed for Form {}

impl Ask for Form {
    type Answer = FormValues;

    fn question(&self, _: Option<&Peer>) -> Result<Question, String> {
        Ok(Question::Form { message: self.message.as_str().into(), schema: self.schema()?.to_string().into() })
    }

    fn read(&self, result: &[u8]) -> Said<FormValues> {
        let rules = match self.rules() {
            Ok(rules) => rules,
            Err(faults) => return Said::Wrong(faults.join("; ")),
        };
        flat::read(result, &rules, |filled| match filled {
            Filled::Changed(Value::Object(values)) => {
                // A field that nobody asked for is as if it were not there.
                let values: Map<_, _> =
                    values.into_iter().filter(|(name, _)| self.fields.iter().any(|(field, _)| field == name)).collect();
                let faults = self.fields.iter().filter_map(|(name, field)| field.kind.misfit(name, values.get(name)?));
                let faults: Vec<String> = faults.collect();
                if faults.is_empty() { Ok(FormValues(values)) } else { Err(faults.join("; ")) }
            }
            Filled::Changed(_) | Filled::AsSent(_) => Err("the content is not an object".into()),
        })
    }
}

/// What a form was filled in with: only the fields that it has, each as it was asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormValues(Map<String, Value>);

impl FormValues {
    /// The text, or the choice, of that field; `None` if it was left empty.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field)?.as_str()
    }

    /// The number of that field.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<f64> {
        self.0.get(field)?.as_f64()
    }

    /// The integer of that field. `None` also if it is larger than 64 bits.
    #[must_use]
    pub fn integer(&self, field: &str) -> Option<i64> {
        self.0.get(field)?.as_i64()
    }

    /// The boolean of that field.
    #[must_use]
    pub fn boolean(&self, field: &str) -> Option<bool> {
        self.0.get(field)?.as_bool()
    }

    /// What was chosen in that field of several choices: nothing if it was left empty.
    pub fn choices(&self, field: &str) -> impl Iterator<Item = &str> {
        self.0.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// All fields, as a type of yours.
    ///
    /// # Errors
    ///
    /// If the type takes less than the form does.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(self.0.clone().into())
    }

    /// All fields, as JSON.
    #[must_use]
    pub const fn json(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// One field of a [`Form`], and where the kinds of fields begin.
#[derive(Clone, Debug)]
pub struct Field {
    schema: Map<String, Value>,
    required: bool,
    kind: FieldKind,
}

/// What of a field its schema does not say.
#[derive(Clone, Debug)]
enum FieldKind {
    Text { format: Option<&'static str> },
    Choice(Vec<Choice>),
    Other,
}

impl Field {
    /// A text.
    pub fn text() -> TextField {
        TextField(Self::new("string", FieldKind::Text { format: None }))
    }

    /// A number.
    pub fn number() -> NumberField {
        NumberField(Self::new("number", FieldKind::Other))
    }

    /// A whole number.
    pub fn integer() -> IntegerField {
        IntegerField(Self::new("integer", FieldKind::Other))
    }

    /// True or false.
    pub fn boolean() -> BooleanField {
        BooleanField(Self::new("boolean", FieldKind::Other))
    }

    /// One of these: values, or values with titles.
    pub fn choice<C: Into<Choice>>(choices: impl IntoIterator<Item = C>) -> ChoiceField {
        let choices: Vec<Choice> = choices.into_iter().map(Into::into).collect();
        let mut field = Self::new("string", FieldKind::Other);
        match is_titled(&choices) {
            true => field.set("oneOf", titled(&choices)),
            false => field.set("enum", plain(&choices)),
        }
        field.kind = FieldKind::Choice(choices);
        ChoiceField(field)
    }

    /// Any number of these. Clients have it from 2025-11-25 on; one of 2025-06-18 cannot be asked a form that has it.
    pub fn choices<C: Into<Choice>>(choices: impl IntoIterator<Item = C>) -> ChoicesField {
        let choices: Vec<Choice> = choices.into_iter().map(Into::into).collect();
        let mut field = Self::new("array", FieldKind::Other);
        match is_titled(&choices) {
            true => field.set("items", json!({"anyOf": titled(&choices)})),
            false => field.set("items", json!({"type": "string", "enum": plain(&choices)})),
        }
        field.kind = FieldKind::Choice(choices);
        ChoicesField(field)
    }

    fn new(name: &str, kind: FieldKind) -> Self {
        Self { schema: Map::from_iter([("type".into(), name.into())]), required: false, kind }
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.schema.insert(key.into(), value.into());
    }
}

impl FieldKind {
    /// What is wrong with the field itself.
    fn faults(&self) -> impl Iterator<Item = String> {
        let choices = match self {
            Self::Choice(choices) => Some(choices),
            _ => None,
        };
        let none = choices.filter(|choices| choices.is_empty()).map(|_| "there is nothing to choose from".to_owned());
        let twice = choices.into_iter().flatten().enumerate().filter_map(move |(at, choice)| {
            let before = choices?.iter().take(at).any(|other| other.value == choice.value);
            before.then(|| format!("`{}` is there twice", choice.value))
        });
        none.into_iter().chain(twice)
    }

    /// What is wrong with a value that keeps the field's schema.
    fn misfit(&self, name: &str, value: &Value) -> Option<String> {
        match self {
            Self::Text { format: Some(format) } => {
                flat::misfit(format, value.as_str()?).map(|why| format!("`{name}`: {why}"))
            }
            _ => None,
        }
    }
}

/// Something to choose: a value, and perhaps a title that people read in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    value: String,
    title: Option<String>,
}

impl From<&str> for Choice {
    fn from(value: &str) -> Self {
        Self { value: value.to_owned(), title: None }
    }
}

impl From<String> for Choice {
    fn from(value: String) -> Self {
        Self { value, title: None }
    }
}

impl<V: Into<String>, T: Into<String>> From<(V, T)> for Choice {
    fn from((value, title): (V, T)) -> Self {
        Self { value: value.into(), title: Some(title.into()) }
    }
}

fn is_titled(choices: &[Choice]) -> bool {
    choices.iter().any(|choice| choice.title.is_some())
}

fn plain(choices: &[Choice]) -> Value {
    choices.iter().map(|choice| &*choice.value).collect()
}

fn titled(choices: &[Choice]) -> Value {
    let titled = |Choice { value, title }: &Choice| json!({"const": value, "title": title.as_ref().unwrap_or(value)});
    choices.iter().map(titled).collect()
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[must_use = "a field is given to a form with `Form::field`"]
        pub struct $name(Field);

        impl $name {
            /// What people read in place of its name.
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.0.set("title", title.into());
                self
            }

            /// What it is for.
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.0.set("description", description.into());
                self
            }

            /// It must not be left empty.
            pub const fn required(mut self) -> Self {
                self.0.required = true;
                self
            }
        }

        impl From<$name> for Field {
            fn from(field: $name) -> Self {
                field.0
            }
        }
    )*};
}

fields!(
    /// A text: [`Field::text`].
    TextField,
    /// A number: [`Field::number`].
    NumberField,
    /// A whole number: [`Field::integer`].
    IntegerField,
    /// True or false: [`Field::boolean`].
    BooleanField,
    /// A choice: [`Field::choice`].
    ChoiceField,
    /// Several choices: [`Field::choices`].
    ChoicesField
);

impl TextField {
    /// At least so many characters.
    pub fn min_length(mut self, characters: u32) -> Self {
        self.0.set("minLength", characters);
        self
    }

    /// At most so many characters.
    pub fn max_length(mut self, characters: u32) -> Self {
        self.0.set("maxLength", characters);
        self
    }

    /// It is an e-mail address.
    pub fn email(self) -> Self {
        self.format("email")
    }

    /// It is a URI.
    pub fn uri(self) -> Self {
        self.format("uri")
    }

    /// It is a date: `2026-07-28`.
    pub fn date(self) -> Self {
        self.format("date")
    }

    /// It is a date and a time: `2026-07-28T12:00:00Z`.
    pub fn date_time(self) -> Self {
        self.format("date-time")
    }

    /// What it is filled in with at first. From 2025-11-25 on.
    pub fn default(mut self, text: impl Into<String>) -> Self {
        self.0.set("default", text.into());
        self
    }

    fn format(mut self, format: &'static str) -> Self {
        self.0.set("format", format);
        self.0.kind = FieldKind::Text { format: Some(format) };
        self
    }
}

impl NumberField {
    /// At least that.
    pub fn min(mut self, least: f64) -> Self {
        self.0.set("minimum", least);
        self
    }

    /// At most that.
    pub fn max(mut self, most: f64) -> Self {
        self.0.set("maximum", most);
        self
    }

    /// What it is filled in with at first. From 2025-11-25 on.
    pub fn default(mut self, number: f64) -> Self {
        self.0.set("default", number);
        self
    }
}

impl IntegerField {
    /// At least that.
    pub fn min(mut self, least: i64) -> Self {
        self.0.set("minimum", least);
        self
    }

    /// At most that.
    pub fn max(mut self, most: i64) -> Self {
        self.0.set("maximum", most);
        self
    }

    /// What it is filled in with at first. From 2025-11-25 on.
    pub fn default(mut self, number: i64) -> Self {
        self.0.set("default", number);
        self
    }
}

impl BooleanField {
    /// What it is at first.
    pub fn default(mut self, value: bool) -> Self {
        self.0.set("default", value);
        self
    }
}

impl ChoiceField {
    /// What is chosen at first. From 2025-11-25 on.
    pub fn default(mut self, value: impl Into<String>) -> Self {
        self.0.set("default", value.into());
        self
    }

    /// Says titles in the words of 2025-06-18, `enumNames`, to later clients as well: these words are deprecated, and for clients that
    /// know no others (ELIC-4).
    pub fn enum_names(mut self) -> Self {
        let FieldKind::Choice(choices) = &self.0.kind else { return self };
        let names: Value =
            choices.iter().map(|choice| choice.title.as_ref().unwrap_or(&choice.value).as_str()).collect();
        let values = plain(choices);
        self.0.schema.shift_remove("oneOf");
        self.0.set("enum", values);
        self.0.set("enumNames", names);
        self
    }
}

impl ChoicesField {
    /// At least so many.
    pub fn min_items(mut self, items: u32) -> Self {
        self.0.set("minItems", items);
        self
    }

    /// At most so many.
    pub fn max_items(mut self, items: u32) -> Self {
        self.0.set("maxItems", items);
        self
    }

    /// What is chosen at first.
    pub fn default<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.0.set("default", values.into_iter().map(|value| Value::from(value.into())).collect::<Vec<_>>());
        self
    }
}
