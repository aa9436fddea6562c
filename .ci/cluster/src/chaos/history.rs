//! One session's life: it does this and that, as its seed says, and believes nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::client::{Answer, Begun, Client, Fault, Got, RETRY, Said};
use crate::flow::{Flow, Step};
use crate::world::{PATIENCE, World, count};

const REVISIONS: [&str; 4] = ["2025-11-25", "2025-11-25", "2025-06-18", "2025-03-26"];

pub struct History {
    world: Arc<World>,
    rng: Rng,
    client: Arc<Client>,
    listener: Option<Listener>,
    subscribed: bool,
    /// Milliseconds of thought between two deeds, about.
    thinks: u64,
    names: u64,
}

/// A GET that is kept open, and opened again.
struct Listener {
    updates: watch::Receiver<u64>,
    fault: watch::Receiver<Option<Fault>>,
    task: AbortHandle,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Lives until the world settles, and then shows that the session is still there.
pub async fn live(world: Arc<World>, seed: u64, thinks: u64) {
    let mut rng = Rng::with_seed(seed);
    let lived = async {
        let mut history = History::begin(&world, &mut rng, thinks).await?;
        while !world.is_settling() {
            history.deed().await?;
            history.think().await?;
        }
        history.settle().await
    };
    if let Err(fault) = lived.await {
        world.fail(fault);
    }
}

/// Marks are random, so that no answer has another's by chance, and of one length.
pub fn mark(rng: &mut Rng) -> String {
    format!("mk-{:016x}", rng.u64(..))
}

impl History {
    async fn begin(world: &Arc<World>, rng: &mut Rng, thinks: u64) -> Result<Self, Fault> {
        let mut rng = rng.fork();
        let revision = REVISIONS[rng.usize(0..REVISIONS.len())];
        let client = Arc::new(Client::open(world, mark(&mut rng), revision).await?);
        client.request_until_answered("logging/setLevel", json!({"level": "debug"})).await?;
        let listener = if rng.bool() { Some(listen(&client)) } else { None };
        Ok(Self { world: Arc::clone(world), rng, client, listener, subscribed: false, thinks, names: 0 })
    }

    async fn think(&mut self) -> Result<(), Fault> {
        let span = Duration::from_millis(self.rng.u64(0..=2 * self.thinks));
        let end = Instant::now() + span;
        while Instant::now() < end && !self.world.is_settling() {
            sleep(Duration::from_millis(200).min(end - Instant::now())).await;
        }
        let heard = self.listener.as_ref().and_then(|listener| listener.fault.borrow().clone());
        heard.map_or(Ok(()), Err)
    }

    async fn deed(&mut self) -> Result<(), Fault> {
        match self.rng.u32(0..100) {
            0..26 => self.quick().await.map(drop),
            26..48 => self.count().await,
            48..60 if self.client.revision > "2025-03-26" => self.ask().await,
            48..66 => self.hang().await,
            66..76 if self.listener.is_some() => self.follow().await,
            66..84 => self.rest().await,
            84..88 => self.stranger().await,
            88..97 => self.list().await,
            _ => self.end().await,
        }
    }

    /// A name that nobody else uses: whatever runs under it is counted.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("{}/{}", self.client.mark, self.names)
    }

    async fn call(&self, id: &str, tool: &str, arguments: &Value) -> Result<Begun, Fault> {
        self.client.note(&format!("{id}: call {tool} {arguments}"));
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.client.begin(id, "tools/call", params).await
    }

    /// Judges how a call ended. Whether it has its result.
    fn judge(&self, name: &str, answer: Answer, wanted: &str) -> Result<bool, Fault> {
        let stats = &self.world.stats;
        match answer {
            Answer::Result(result) => {
                if result["content"][0]["text"] != wanted || result["isError"] == true {
                    return Err(self.client.fault(&format!("{name}: {result} in place of {wanted}")));
                }
                count(&stats.results);
                self.world.answered.lock().unwrap().push(name.to_owned());
                Ok(true)
            }
            Answer::Interrupted => {
                count(&stats.interrupted);
                Ok(false)
            }
            Answer::Unknown => {
                count(&stats.unknown);
                Ok(false)
            }
            Answer::Busy => {
                self.world.refused.lock().unwrap().push(name.to_owned());
                Ok(false)
            }
            Answer::Missing => Err(self.client.fault(&format!("LOST: {name} was answered with 404"))),
            Answer::Nothing => Err(self.client.fault(&format!("{name} was never answered"))),
        }
    }

    /// A call that answers at once.
    async fn quick(&mut self) -> Result<bool, Fault> {
        let (name, id) = (self.name(), self.client.id());
        let answer = match self.call(&id, "quick", &json!({"name": name})).await? {
            Begun::Answer(answer) => answer,
            Begun::Flow(mut flow) => flow.end(&self.client).await?,
        };
        self.judge(&name, answer, &format!("{} {name} done", self.client.mark))
    }

    /// A call that reports: every log once and in order, progress rising.
    async fn count(&mut self) -> Result<(), Fault> {
        let (name, id) = (self.name(), self.client.id());
        let (steps, pause) = (self.rng.u32(2..8), self.rng.u64(5..120));
        let mut flow = match self.call(&id, "count", &json!({"name": name, "steps": steps, "pause": pause})).await? {
            Begun::Answer(answer) => return self.judge(&name, answer, "").map(drop),
            Begun::Flow(flow) => flow,
        };
        flow.leaves = [0, 0, 3, 8][self.rng.usize(0..4)];
        let (mut logs, mut progress) = (0, 0);
        let answer = loop {
            let note = match flow.step(&self.client).await? {
                Step::Note(note) => note,
                step => break flow.close(&self.client, step).await?,
            };
            let params = &note["params"];
            let mine = |step: u64| format!("{} {name} {step}", self.client.mark);
            let fits = match note["method"].as_str() {
                Some("notifications/message") => {
                    logs += 1;
                    params["data"] == mine(logs) && params["level"] == "debug"
                }
                Some("notifications/progress") => {
                    let step = params["progress"].as_u64().unwrap_or_default();
                    let rises = step > progress && step <= u64::from(steps);
                    progress = step;
                    rises
                        && params["progressToken"] == id
                        && (self.client.revision == "2024-11-05" || params["message"] == mine(step))
                }
                _ => false,
            };
            if !fits {
                return Err(self.client.fault(&format!("{name}: log {logs}, progress {progress}: {note}")));
            }
        };
        if self.judge(&name, answer, &format!("{} {name} done", self.client.mark))? {
            if logs != u64::from(steps) {
                return Err(self.client.fault(&format!("{name}: {logs} of {steps} logs")));
            }
            let from = self.rng.usize(0..4);
            flow.replay(&self.client, from).await?;
        }
        Ok(())
    }

    /// A call that asks twice.
    async fn ask(&mut self) -> Result<(), Fault> {
        let (name, id) = (self.name(), self.client.id());
        let entries = format!("{name}:entries");
        let mut flow = match self.call(&id, "ask", &json!({"name": name})).await? {
            Begun::Answer(answer) => return self.judge(&entries, answer, "").map(drop),
            Begun::Flow(flow) => flow,
        };
        flow.leaves = [0, 0, 4][self.rng.usize(0..3)];
        let (mut words, mut questions) = (Vec::new(), HashSet::new());
        let answer = loop {
            let question = match flow.step(&self.client).await? {
                Step::Question(question) => question,
                step => break flow.close(&self.client, step).await?,
            };
            count(&self.world.stats.asked);
            let step = words.len();
            let fits = question["method"] == "elicitation/create"
                && question["params"]["message"] == format!("{} {name} {step}", self.client.mark);
            if !fits || !questions.insert(question["id"].to_string()) {
                return Err(self.client.fault(&format!("{name}: question {step} is {question}")));
            }
            self.client.note(&format!("{name} asks {}", question["id"]));
            self.keep_open(&mut flow).await?;
            let word = format!("{:08x}", self.rng.u32(..));
            self.world.most.lock().unwrap().insert(entries.clone(), step as u64 + 2);
            let content = json!({"action": "accept", "content": {"word": word}});
            let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": content});
            self.client.tell_until_accepted(&reply).await?;
            count(&self.world.stats.told);
            words.push(word);
        };
        let wanted = format!("{} {name} done {}", self.client.mark, words.join(" "));
        if self.judge(&entries, answer, &wanted)? {
            self.world.answered.lock().unwrap().extend((0..3).map(|step| format!("{name}:step {step}")));
            flow.replay(&self.client, self.rng.usize(0..2)).await?;
        }
        Ok(())
    }

    /// A person thinks. The call must not end meanwhile, whoever dies: an open question stays open.
    async fn keep_open(&mut self, flow: &mut Flow) -> Result<(), Fault> {
        match self.rng.u32(0..4) {
            0 => {}
            1 => sleep(Duration::from_millis(self.rng.u64(0..300))).await,
            2 => {
                flow.leave(&self.client);
                sleep(Duration::from_millis(self.rng.u64(0..3000))).await;
            }
            _ => {
                let span = Duration::from_millis(self.rng.u64(500..4000));
                if let Ok(step) = timeout(span, flow.step(&self.client)).await {
                    let what = match step? {
                        Step::Note(value) | Step::Question(value) | Step::Answer(value) => value.to_string(),
                        Step::Nameless | Step::Over => "its stream is over".into(),
                    };
                    return Err(self.client.fault(&format!("{} goes on without the answer: {what}", flow.id)));
                }
                count(&self.world.stats.kept_open);
            }
        }
        Ok(())
    }

    /// A call that only a cancellation ends.
    async fn hang(&mut self) -> Result<(), Fault> {
        let (name, id) = (self.name(), self.client.id());
        let begun = self.call(&id, "hang", &json!({"name": name})).await?;
        let mut flow = match begun {
            Begun::Answer(answer) => {
                // It may run all the same, if its connection broke.
                self.cancel(&name, &id).await?;
                return self.judge(&name, answer, "").map(drop);
            }
            Begun::Flow(flow) => flow,
        };
        match flow.step(&self.client).await? {
            Step::Note(note) if note["params"]["data"] == format!("{} {name} 1", self.client.mark) => {}
            step @ (Step::Answer(_) | Step::Nameless | Step::Over) => {
                self.cancel(&name, &id).await?;
                let answer = flow.close(&self.client, step).await?;
                return self.judge(&name, answer, "").map(drop);
            }
            Step::Note(value) | Step::Question(value) => return Err(self.client.fault(&format!("{name}: {value}"))),
        }
        if self.rng.bool() {
            sleep(Duration::from_millis(self.rng.u64(0..1500))).await;
        }
        if self.rng.u32(0..3) == 0 {
            flow.leave(&self.client);
        }
        self.cancel(&name, &id).await?;
        flow.cancelled = true;
        match flow.end(&self.client).await? {
            Answer::Nothing => count(&self.world.stats.cancelled),
            // Its node had died before.
            answer => drop(self.judge(&name, answer, "no result")?),
        }
        Ok(())
    }

    async fn cancel(&self, name: &str, id: &str) -> Result<(), Fault> {
        let params = json!({"requestId": id});
        let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.client.tell_until_accepted(&cancelled).await?;
        self.world.cancelled.lock().unwrap().push(name.to_owned());
        Ok(())
    }

    /// Somebody else changes what this session follows, until it hears of it.
    async fn follow(&mut self) -> Result<(), Fault> {
        let uri = format!("note://{}/1", self.client.mark);
        if !self.subscribed {
            self.client.request_until_answered("resources/subscribe", json!({"uri": uri})).await?;
            count(&self.world.stats.subscribed);
            self.subscribed = true;
        }
        let Some(listener) = &self.listener else { return Ok(()) };
        let (mut updates, fault) = (listener.updates.clone(), listener.fault.clone());
        updates.mark_unchanged();
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            self.touch().await?;
            // As long as the update may take; longer, and it counts as lost with a node that died just then.
            match timeout(Duration::from_secs(3), updates.changed()).await {
                Ok(Ok(())) => return Ok(()),
                _ => {
                    if let Some(fault) = fault.borrow().clone() {
                        return Err(fault);
                    }
                }
            }
        }
        Err(self.client.fault("LOST: a subscription that tells nothing for a minute"))
    }

    async fn touch(&mut self) -> Result<(), Fault> {
        let toucher = {
            let touchers = self.world.touchers.lock().unwrap();
            Arc::clone(&touchers[self.rng.usize(0..touchers.len())])
        };
        let id = toucher.id();
        let of = json!({"name": id, "of": self.client.mark});
        match toucher.request("tools/call", json!({"name": "touch", "arguments": of})).await? {
            Answer::Missing => return Err(toucher.fault("LOST: a call was answered with 404")),
            Answer::Result(_) => {
                count(&self.world.stats.touches);
                self.world.answered.lock().unwrap().push(id);
            }
            _ => sleep(RETRY).await,
        }
        Ok(())
    }

    /// Long enough to hibernate.
    async fn rest(&mut self) -> Result<(), Fault> {
        sleep(Duration::from_millis(self.rng.u64(1500..5000))).await;
        count(&self.world.stats.slept);
        self.quick().await.map(drop)
    }

    async fn stranger(&mut self) -> Result<(), Fault> {
        match self.client.is_closed_to(&mark(&mut self.rng)).await? {
            Some(true) => count(&self.world.stats.strangers),
            Some(false) => return Err(self.client.fault("WRONG CLIENT: another principal was served")),
            None => {}
        }
        Ok(())
    }

    async fn list(&mut self) -> Result<(), Fault> {
        let (method, wanted) =
            [("tools/list", "tools"), ("ping", ""), ("resources/templates/list", "resourceTemplates")]
                [self.rng.usize(0..3)];
        let result = self.client.request_until_answered(method, json!({})).await?;
        if !wanted.is_empty() && result[wanted].as_array().is_none_or(Vec::is_empty) {
            return Err(self.client.fault(&format!("{method}: {result}")));
        }
        Ok(())
    }

    /// Ends the session, which must stay so, and begins another.
    async fn end(&mut self) -> Result<(), Fault> {
        self.listener = None;
        let until = Instant::now() + PATIENCE;
        let mut tried = false;
        loop {
            match self.client.delete().await? {
                Said::Accepted => break,
                Said::Missing if tried => break,
                Said::Missing => return Err(self.client.fault("LOST: DELETE was answered with 404")),
                Said::Broken | Said::Busy => tried = true,
            }
            if Instant::now() > until {
                return Err(self.client.fault("DELETE was not answered for a minute"));
            }
            sleep(RETRY).await;
        }
        self.client.note("DELETE is done");
        sleep(Duration::from_millis(self.rng.u64(0..1500))).await;
        while Instant::now() < until {
            match self.client.request("ping", json!({})).await? {
                Answer::Missing => {
                    count(&self.world.stats.deleted);
                    *self = Self::begin(&Arc::clone(&self.world), &mut self.rng, self.thinks).await?;
                    return Ok(());
                }
                Answer::Result(_) => return Err(self.client.fault("a session answers after it was ended")),
                _ => sleep(RETRY).await,
            }
        }
        Err(self.client.fault("a session that was ended is not answered with 404"))
    }

    /// The session is there, does what it is told, and still hears of what it follows.
    async fn settle(&mut self) -> Result<(), Fault> {
        let end = Instant::now() + 2 * PATIENCE;
        while !self.quick().await? {
            if Instant::now() > end {
                return Err(self.client.fault("no call is answered with its result any more"));
            }
            sleep(RETRY).await;
        }
        if self.subscribed && self.listener.is_some() {
            self.follow().await?;
        }
        let heard = self.listener.as_ref().and_then(|listener| listener.fault.borrow().clone());
        heard.map_or(Ok(()), Err)
    }
}

fn listen(client: &Arc<Client>) -> Listener {
    let (news, updates) = watch::channel(0);
    let (told, fault) = watch::channel(None);
    let client = Arc::clone(client);
    let task = tokio::spawn(async move {
        let heard = hear(&client, &news).await;
        let _ = told.send(heard.err());
        // The receivers are waited on for as long as the session lives.
        std::future::pending::<()>().await;
    });
    Listener { updates, fault, task: task.abort_handle() }
}

async fn hear(client: &Client, news: &watch::Sender<u64>) -> Result<(), Fault> {
    let uri = format!("note://{}/1", client.mark);
    loop {
        let Got::Events(sse) = client.get(None).await? else {
            sleep(RETRY).await;
            continue;
        };
        let mut flow = Flow::new("", sse);
        flow.leaves = 6;
        loop {
            match flow.step(client).await? {
                Step::Note(note)
                    if note["method"] == "notifications/resources/updated" && note["params"]["uri"] == uri =>
                {
                    count(&client.world.stats.updates);
                    news.send_modify(|updates| *updates += 1);
                }
                Step::Note(value) | Step::Question(value) | Step::Answer(value) => {
                    return Err(client.fault(&format!("a listening stream has {value}")));
                }
                Step::Nameless => {
                    client.nameless.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                // Streams that nobody can come back to push out the oldest.
                Step::Over if client.nameless.load(Ordering::Relaxed) > 7 => break,
                Step::Over => return Err(client.fault("LOST: a listening stream cannot be resumed")),
            }
        }
        sleep(RETRY).await;
    }
}
