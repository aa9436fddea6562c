//! What was measured, each beside its goal.
#![allow(clippy::print_stdout)]

use std::process::ExitCode;

/// How far a size may be over its goal before the whole fails: a tenth, as pages and segments come whole.
const SLACK: f64 = 1.1;
/// What pages and tables that come whole may take beside that, in bytes: it is much where sessions are few.
const FIXED: f64 = (256 << 10) as f64;
/// The part of what is resident that a process may differ by from wave to wave, as holes in its heap are not the same ones.
const NOISE: f64 = 0.04;
/// The same of a small process, in bytes.
const PAGES: f64 = (1 << 20) as f64;

/// Lines of a report, printed as they come.
#[derive(Debug)]
pub(crate) struct Report {
    floor: u64,
    missed: bool,
}

impl Report {
    /// Beside a floor: what the same process held before.
    pub(crate) fn new(floor: u64) -> Self {
        Self { floor, missed: false }
    }

    /// What is resident, for each of so many. A goal that is missed by more than a tenth fails the whole.
    pub(crate) fn bytes(&mut self, what: &str, resident: u64, count: usize, goal: Option<f64>) {
        let each = (resident as f64 - self.floor as f64) / count as f64;
        let (floor, resident) = (mib(self.floor as f64), mib(resident as f64));
        let verdict = self.judge(each, count, goal);
        println!("{count:>9}  {what:<40} {each:>8.0} bytes each{verdict}   ({resident} MiB resident, {floor} before)");
    }

    /// What is taken for each of so many, over what a yardstick takes.
    pub(crate) fn over(&mut self, what: &str, taken: u64, yardstick: u64, count: usize, goal: Option<f64>) {
        let each = (taken as f64 - yardstick as f64) / count as f64;
        let verdict = self.judge(each, count, goal);
        println!("{count:>9}  {what:<40} {each:>8.0} bytes each{verdict}");
    }

    /// What must not have grown by more than that.
    pub(crate) fn no_more(&mut self, what: &str, after: u64, before: u64, more: f64) {
        let grown = after as f64 - before as f64;
        let missed = grown > more * SLACK + (before as f64 * NOISE).max(PAGES);
        self.missed |= missed;
        let verdict = if missed { " MISSED" } else { "" };
        println!("{:>9}  {what:<40} {:>8} MiB, goal {}{verdict}", "", mib(grown), mib(more));
    }

    /// The exit code that says whether the sizes were kept.
    pub(crate) fn verdict(&self) -> ExitCode {
        if self.missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    fn judge(&mut self, each: f64, count: usize, goal: Option<f64>) -> String {
        let Some(goal) = goal else { return String::new() };
        let missed = each > goal * SLACK + FIXED / count as f64;
        self.missed |= missed;
        format!(", goal {goal:.0}{}", if missed { " MISSED" } else { "" })
    }
}

fn mib(bytes: f64) -> String {
    format!("{:.1}", bytes / f64::from(1 << 20))
}
