//! What the client hears on the way.

use std::future::Future;
use std::panic::Location;

use super::answer::Answer;
use super::calling::Call;
use super::client::Client;
use super::inbox::Inbox;
use super::notice::{LogNotice, Notice, ProgressNotice};

impl Client {
    /// Waits for the next thing that the server says on its own, of those that were not taken.
    ///
    /// # Panics
    ///
    /// If nothing is left that could say something.
    #[track_caller]
    pub fn next_notice(&mut self) -> impl Future<Output = Notice> + Send {
        let place = Location::caller();
        async move {
            let Self { driver, inbox, .. } = self;
            let found = driver.until(|driver| {
                inbox.sort(driver);
                inbox.notices.pop_front()
            });
            found.await.unwrap_or_else(|| self.stand("a notice, awaited", place))
        }
    }

    /// Waits for the next progress of a call, of that which was not taken.
    ///
    /// # Panics
    ///
    /// If the call is answered without more, or nothing is left that could wake its code.
    #[track_caller]
    pub fn next_progress(&mut self, call: &Call) -> impl Future<Output = ProgressNotice> + Send {
        let place = Location::caller();
        async move {
            self.check(call);
            let Self { driver, inbox, .. } = self;
            let found = driver.until(|driver| {
                inbox.sort(driver);
                let at = inbox.notices.iter().position(|notice| is_progress_of(notice, call));
                match at.and_then(|at| inbox.notices.remove(at)) {
                    Some(Notice::Progress(progress)) => Some(Some(progress)),
                    _ => inbox.answers.contains_key(&call.id).then_some(None),
                }
            });
            match found.await {
                Some(Some(progress)) => progress,
                Some(None) => panic!("{} was answered and said no more progress, awaited at {place}", call.asked),
                None => self.stand(&format!("progress of {}, awaited", call.asked), place),
            }
        }
    }

    /// Takes everything that the server has said on its own.
    #[must_use]
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.sort();
        self.inbox.notices.drain(..).collect()
    }

    /// Takes what all calls have said of how far they are.
    #[must_use]
    pub fn take_progress(&mut self) -> Vec<ProgressNotice> {
        self.sort();
        take(&mut self.inbox, |notice| match notice {
            Notice::Progress(progress) => Ok(progress),
            other => Err(other),
        })
    }

    /// Takes what one call has said of how far it is.
    ///
    /// # Panics
    ///
    /// If it is another client's.
    #[must_use]
    #[track_caller]
    pub fn take_progress_of(&mut self, call: &Call) -> Vec<ProgressNotice> {
        self.check(call);
        self.sort();
        take(&mut self.inbox, |notice| match notice {
            Notice::Progress(progress) if progress.token == call.id => Ok(progress),
            other => Err(other),
        })
    }

    /// Takes the log messages.
    #[must_use]
    pub fn take_logs(&mut self) -> Vec<LogNotice> {
        self.sort();
        take(&mut self.inbox, |notice| match notice {
            Notice::Log(log) => Ok(log),
            other => Err(other),
        })
    }

    /// Whether the server has said that its list of tools changed, since this was last asked.
    #[must_use]
    pub fn tools_changed(&mut self) -> bool {
        self.has_heard(|notice| matches!(notice, Notice::ToolsChanged))
    }

    /// Whether the server has said that its list of resources changed, or that of their templates, since this was last asked.
    #[must_use]
    pub fn resources_changed(&mut self) -> bool {
        self.has_heard(|notice| matches!(notice, Notice::ResourcesChanged))
    }

    /// Whether the server has said that its list of prompts changed, since this was last asked.
    #[must_use]
    pub fn prompts_changed(&mut self) -> bool {
        self.has_heard(|notice| matches!(notice, Notice::PromptsChanged))
    }

    /// Takes the URIs of resources that hold something else now, by what the server has said.
    #[must_use]
    pub fn take_updates(&mut self) -> Vec<String> {
        self.sort();
        take(&mut self.inbox, |notice| match notice {
            Notice::ResourceUpdated(uri) => Ok(uri),
            other => Err(other),
        })
    }

    /// Takes those notices out, and says whether there were any.
    fn has_heard(&mut self, of: impl Fn(&Notice) -> bool) -> bool {
        self.sort();
        !take(&mut self.inbox, |notice| if of(&notice) { Ok(()) } else { Err(notice) }).is_empty()
    }

    /// Takes the answers that have come, since [`send_raw`](Client::send_raw), to what was sent with it.
    #[must_use]
    pub fn take_answers(&mut self) -> Vec<Answer> {
        self.sort();
        std::mem::take(&mut self.inbox.strays)
    }
}

fn is_progress_of(notice: &Notice, call: &Call) -> bool {
    matches!(notice, Notice::Progress(progress) if progress.token == call.id)
}

/// Takes those notices that `choose` takes; the others stay.
fn take<T>(inbox: &mut Inbox, choose: impl Fn(Notice) -> Result<T, Notice>) -> Vec<T> {
    let mut taken = Vec::new();
    for notice in std::mem::take(&mut inbox.notices) {
        match choose(notice) {
            Ok(notice) => taken.push(notice),
            Err(other) => inbox.notices.push_back(other),
        }
    }
    taken
}
