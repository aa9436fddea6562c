//! What a tool takes as its icon.

use mcp_core::Fault;
use mcp_core::answer::Icon;

/// An icon, or the address of one.
pub trait IntoIcon {
    /// The icon.
    ///
    /// # Errors
    ///
    /// If the address is none of `https:`, `http:` and `data:` with base64 (BASE-28).
    fn into_icon(self) -> Result<Icon, Fault>;
}

impl IntoIcon for Icon {
    fn into_icon(self) -> Result<Icon, Fault> {
        Ok(self)
    }
}

impl IntoIcon for &str {
    fn into_icon(self) -> Result<Icon, Fault> {
        Icon::new(self)
    }
}

impl IntoIcon for Result<Icon, Fault> {
    fn into_icon(self) -> Result<Icon, Fault> {
        self
    }
}
