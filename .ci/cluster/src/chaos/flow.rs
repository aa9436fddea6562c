//! The stream of one request, or of a GET, over as many connections as it takes.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::client::{Answer, Client, Fault, Got, RETRY};
use crate::sse::{Event, Sse};
use crate::world::{PATIENCE, count};

/// Events that are kept to be compared.
const KEPT: usize = 256;

pub struct Flow {
    /// The request; empty for a GET.
    pub id: String,
    sse: Option<Sse>,
    /// Its name, and the number of the last event.
    stream: Option<(String, u64)>,
    seen: Vec<Event>,
    answered: bool,
    /// The request was cancelled, which was acknowledged: an end is the end.
    pub cancelled: bool,
    /// Proper ends since the last event.
    ends: u32,
    /// One of so many events makes the client leave, and come back. Never if 0.
    pub leaves: u32,
}

pub enum Step {
    Note(Value),
    Question(Value),
    Answer(Value),
    /// The connection broke, and there is no event to come back to.
    Nameless,
    /// It cannot be resumed: there is nothing after the last event.
    Over,
}

impl Flow {
    pub fn new(id: &str, sse: Sse) -> Self {
        Self {
            id: id.to_owned(),
            sse: Some(sse),
            stream: None,
            seen: Vec::new(),
            answered: false,
            cancelled: false,
            ends: 0,
            leaves: 0,
        }
    }

    /// The next thing that it says. Safe to be dropped.
    pub async fn step(&mut self, client: &Client) -> Result<Step, Fault> {
        // Since when nobody answers.
        let mut deaf = None;
        loop {
            let Some(sse) = &mut self.sse else {
                let Some(after) = self.last() else { return Ok(Step::Nameless) };
                match client.get(Some(&after)).await? {
                    Got::Events(sse) => {
                        count(&client.world.stats.resumed);
                        client.note(&format!("{} goes on after {after}", self.id));
                        self.sse = Some(sse);
                        deaf = None;
                    }
                    Got::Refused => return Ok(Step::Over),
                    Got::Nothing if deaf.get_or_insert_with(Instant::now).elapsed() > PATIENCE => {
                        return Err(client.fault(&format!("{} could not be resumed for a minute", self.id)));
                    }
                    Got::Nothing => sleep(RETRY).await,
                }
                continue;
            };
            match sse.next().await {
                Ok(Some(event)) => {
                    if let Some(step) = self.event(client, event)? {
                        return Ok(step);
                    }
                }
                Ok(None) => {
                    self.sse = None;
                    self.ends += 1;
                    if self.answered || (self.cancelled && self.ends > 2) {
                        return Ok(Step::Over);
                    }
                    if self.ends > 600 {
                        return Err(client.fault(&format!("{} ends again and again without an answer", self.id)));
                    }
                    sleep(RETRY).await;
                }
                Err(failed) => {
                    client.broke(&failed)?;
                    self.sse = None;
                    if self.answered {
                        return Ok(Step::Over);
                    }
                    sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    /// Leaves, to come back with the next step.
    pub fn leave(&mut self, client: &Client) {
        if self.stream.is_some() && self.sse.take().is_some() {
            count(&client.world.stats.breaks);
        }
    }

    fn last(&self) -> Option<String> {
        self.stream.as_ref().map(|(stream, number)| format!("{stream}-{number}"))
    }

    fn event(&mut self, client: &Client, event: Event) -> Result<Option<Step>, Fault> {
        count(&client.world.stats.events);
        self.ends = 0;
        let id = event.id.clone().ok_or_else(|| client.fault(&format!("an event without an id: {event:?}")))?;
        let named = id.split_once('-').and_then(|(stream, number)| Some((stream.to_owned(), number.parse().ok()?)));
        let Some((stream, number)) = named else { return Err(client.fault(&format!("an event id: {id}"))) };
        let fits = match &self.stream {
            Some((known, last)) => *known == stream && number == last + 1,
            None => number == 1,
        };
        if !fits {
            return Err(client.fault(&format!("GAP OR DOUBLE: after event {:?} came {event:?}", self.last())));
        }
        self.stream = Some((stream, number));
        if self.seen.len() < KEPT && !self.id.is_empty() {
            self.seen.push(event.clone());
        }
        if self.leaves > 0 && fastrand::u32(0..self.leaves) == 0 {
            self.leave(client);
        }
        if event.data.is_empty() {
            return Ok(None);
        }
        let value = client.read(&event.data)?;
        if self.answered {
            return Err(client.fault(&format!("AFTER THE ANSWER of {}: {}", self.id, event.data)));
        }
        Ok(Some(match (value.get("method").is_some(), value.get("id").is_some()) {
            (true, true) => Step::Question(value),
            (true, false) => Step::Note(value),
            (false, _) if self.id.is_empty() => {
                return Err(client.fault(&format!("an answer on a stream of no request: {value}")));
            }
            (false, _) => {
                self.answered = true;
                Step::Answer(value)
            }
        }))
    }

    /// Reads on to the answer; notes are passed over.
    pub async fn end(&mut self, client: &Client) -> Result<Answer, Fault> {
        loop {
            match self.step(client).await? {
                Step::Note(_) => {}
                Step::Question(question) => return Err(client.fault(&format!("{} asks: {question}", self.id))),
                step => return self.close(client, step).await,
            }
        }
    }

    /// What the last step means, and whether all that follows an answer is nothing.
    pub async fn close(&mut self, client: &Client, step: Step) -> Result<Answer, Fault> {
        match step {
            Step::Answer(value) => {
                let answer = client.answer(&self.id, &value)?;
                while self.sse.is_some() {
                    // Anything but its end is a fault, which `event` finds.
                    self.step(client).await?;
                }
                Ok(answer)
            }
            Step::Nameless => Ok(Answer::Unknown),
            Step::Over if self.cancelled => Ok(Answer::Nothing),
            Step::Over => Err(client.fault(&format!("LOST: {} cannot be resumed after {:?}", self.id, self.last()))),
            Step::Note(note) | Step::Question(note) => Err(client.fault(&format!("{}: {note}", self.id))),
        }
    }

    /// Reads it again after some event: the same must come, once, in order.
    pub async fn replay(&self, client: &Client, from: usize) -> Result<(), Fault> {
        let Some(after) = self.seen.get(from).and_then(|event| event.id.clone()) else { return Ok(()) };
        let wanted = &self.seen[from + 1..];
        if wanted.is_empty() || self.seen.len() == KEPT {
            return Ok(());
        }
        let end = Instant::now() + PATIENCE;
        'again: while Instant::now() < end {
            let mut sse = match client.get(Some(&after)).await? {
                Got::Events(sse) => sse,
                Got::Refused => {
                    return Err(client.fault(&format!("LOST: {} cannot be read again after {after}", self.id)));
                }
                Got::Nothing => {
                    sleep(RETRY).await;
                    continue;
                }
            };
            for wanted in wanted {
                match sse.next().await {
                    Ok(Some(event)) if event == *wanted => {}
                    Ok(Some(event)) => {
                        let text = format!("{} read again after {after}: {event:?} in place of {wanted:?}", self.id);
                        return Err(client.fault(&text));
                    }
                    Ok(None) => continue 'again,
                    Err(failed) => {
                        client.broke(&failed)?;
                        continue 'again;
                    }
                }
            }
            match sse.next().await {
                Ok(Some(event)) => return Err(client.fault(&format!("{} read again has {event:?} more", self.id))),
                Ok(None) => {}
                Err(failed) => client.broke(&failed)?,
            }
            count(&client.world.stats.replayed);
            return Ok(());
        }
        Err(client.fault(&format!("{} could not be read again for a minute", self.id)))
    }
}
