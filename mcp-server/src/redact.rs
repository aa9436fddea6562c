//! What of a log is for nobody outside.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

type Look = dyn Fn(&mut Value) + Send + Sync;

/// Looks over the data of each log message before a client gets it (LOG-5).
#[derive(Clone, Default)]
pub(crate) struct Redact(Option<Arc<Look>>);

impl Redact {
    pub(crate) fn new(look: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(look)))
    }

    /// The JSON text that may be sent.
    pub(crate) fn written(&self, data: &impl serde::Serialize) -> serde_json::Result<String> {
        let Some(look) = &self.0 else { return serde_json::to_string(data) };
        let mut data = serde_json::to_value(data)?;
        look(&mut data);
        serde_json::to_string(&data)
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Redact(..)" } else { "Redact(nothing)" })
    }
}
