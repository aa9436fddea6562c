//! Pages to open, and folders to work in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;

use mcp_server::ask::{Asked, elicit_url, roots};
use mcp_server::testing::{Client, Notice, Reply, block_on};
use mcp_server::{Ability, CallError, Ctx, Revision, Value, json};

use super::{able, app};

#[test]
fn a_page_has_an_id_on_2025_11_25_alone_elic_3() {
    let app = app(|ctx: Ctx| {
        assert!(ctx.resume().is_some() || ctx.elicitation_id("login").is_none());
        let opened = ctx.ask("login", elicit_url("Sign in.", "https://example.com/login"))?;
        Ok::<_, CallError>(format!("{opened:?} {}", ctx.elicitation_id("login").unwrap_or_default()))
    });
    let ask = |revision| {
        let (send, heard) = channel();
        let text = block_on(async {
            let mut client = able(&app, revision)
                .on_request(move |method, params| {
                    assert_eq!(method, "elicitation/create");
                    send.send(params.clone()).unwrap();
                    json!({"action": "accept"})
                })
                .connect();
            client.call("ask", ()).await.text()
        });
        (heard.recv().unwrap(), text)
    };
    let page = json!({"mode": "url", "message": "Sign in.", "url": "https://example.com/login"});
    let (asked, text) = ask(Revision::MODERN);
    assert_eq!(asked, page);
    assert!(text.starts_with("Accepted(())"), "{text}");
    let (mut asked, text) = ask(Revision::V2025_11_25);
    let id = asked.as_object_mut().unwrap().remove("elicitationId").expect("an id");
    assert_eq!(asked, page);
    assert_eq!(text, format!("Accepted(()) {}", id.as_str().unwrap()));
    assert_ne!(ask(Revision::V2025_11_25).0["elicitationId"], id, "each request has its own");
    block_on(async {
        let mut client = able(&app, Revision::V2025_06_18).on_request(|_, _| json!({"action": "accept"})).connect();
        client.call("ask", ()).await.assert_text_contains("Unsupported");
    });
}

#[test]
fn a_client_that_takes_forms_alone_is_not_sent_to_a_page_elic_2_mrtr_4() {
    let app = app(|ctx: Ctx| ctx.ask("login", elicit_url("Sign in.", "https://example.com/login"))?.required());
    block_on(async {
        let answer =
            Client::builder(&app).modern().capabilities(json!({"elicitation": {}})).connect().call("ask", ()).await;
        answer.assert_fault(-32021).assert_at("/error/data/requiredCapabilities", json!({"elicitation": {"url": {}}}));
        let mut legacy = Client::builder(&app).can(Ability::ElicitationForm).connect();
        legacy.call("ask", ()).await.assert_error_contains("elicitation");
    });
}

#[test]
fn a_page_that_is_not_finished_is_asked_for_again_under_the_same_id_elic_10() {
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        let looks = Arc::new(AtomicU32::new(0));
        let logins = Arc::new(AtomicU32::new(0));
        let app = app({
            let (looks, logins) = (Arc::clone(&looks), Arc::clone(&logins));
            move |ctx: Ctx| {
                let (looks, logins) = (Arc::clone(&looks), Arc::clone(&logins));
                async move {
                    let login: u32 = ctx.once("login", async { logins.fetch_add(1, Ordering::Relaxed) }).await?;
                    let page = || elicit_url("Sign in.", format!("https://example.com/login/{login}"));
                    ctx.ask("page", page())?.required()?;
                    match looks.fetch_add(1, Ordering::Relaxed) {
                        2 => Ok("Signed in."),
                        _ => Err(ctx.ask_again("page", page())),
                    }
                }
            }
        });
        let (send, heard) = channel();
        block_on(async {
            let mut client = able(&app, revision)
                .on_request(move |_, params| {
                    send.send(params.clone()).unwrap();
                    json!({"action": "accept"})
                })
                .connect();
            client.call("ask", ()).await.assert_text("Signed in.");
        });
        let asked: Vec<Value> = heard.iter().collect();
        assert_eq!(asked.len(), 3);
        assert!(asked.iter().all(|page| *page == asked[0]), "{asked:?}");
    }
}

#[test]
fn a_url_that_is_none_or_names_a_user_is_never_sent_elic_8() {
    for wrong in ["example.com", "https://ada:pw@example.com", "javascript:alert(1)", "ftp://example.com"] {
        let app = app(move |ctx: Ctx| ctx.ask("page", elicit_url("Go.", wrong)).map(drop));
        for revision in [Revision::V2025_11_25, Revision::MODERN] {
            block_on(async {
                let never = |_: &str, _: &_| -> Reply { panic!("it must not be asked") };
                able(&app, revision)
                    .on_request(never)
                    .connect()
                    .call("ask", ())
                    .await
                    .assert_error_contains("internal error");
            });
        }
    }
}

#[test]
fn the_error_that_asks_for_pages_is_for_one_revision_elic_7_err_2() {
    let app = app(|_: Ctx| {
        let page = elicit_url("Sign in.", "https://example.com/login");
        Err::<(), _>(CallError::url_required("Sign in first.", [("e7b0", page)]))
    });
    block_on(async {
        let answer = able(&app, Revision::V2025_11_25).connect().call("ask", ()).await;
        let page =
            json!({"mode": "url", "message": "Sign in.", "url": "https://example.com/login", "elicitationId": "e7b0"});
        answer.assert_fault(-32042).assert_at("/error/data", json!({"elicitations": [page]}));
        for revision in [Revision::V2024_11_05, Revision::V2025_06_18, Revision::MODERN] {
            able(&app, revision).connect().call("ask", ()).await.assert_error_text("Sign in first.");
        }
        // Nor for one that takes no pages.
        Client::builder(&app)
            .can(Ability::ElicitationForm)
            .connect()
            .call("ask", ())
            .await
            .assert_error_text("Sign in first.");
    });
    let nothing = CallError::url_required("x", Vec::<(String, _)>::new());
    assert_eq!(nothing.to_string(), "The tool failed with an internal error.");
}

#[test]
fn a_client_of_2025_11_25_hears_that_a_page_is_done_elic_7() {
    let app = app(|ctx: Ctx| {
        ctx.page_done("other");
        ctx.ask("login", elicit_url("Sign in.", "https://example.com/login"))?.required()?;
        ctx.page_done("login");
        Ok::<_, CallError>(ctx.elicitation_id("login").unwrap_or_default())
    });
    for revision in [Revision::V2025_11_25, Revision::MODERN] {
        block_on(async {
            let mut client = able(&app, revision).on_request(|_, _| json!({"action": "accept"})).connect();
            let id = client.call("ask", ()).await.text();
            let heard: Vec<Notice> = client.take_notices();
            match &heard[..] {
                [] => assert_eq!(revision, Revision::MODERN),
                [Notice::Other(json)] => {
                    assert_eq!(
                        (revision, &json["method"]),
                        (Revision::V2025_11_25, &json!("notifications/elicitation/complete"))
                    );
                    assert_eq!(json["params"], json!({"elicitationId": id}));
                }
                more => panic!("{more:?}"),
            }
        });
    }
}

#[cfg(unix)]
#[test]
fn roots_that_change_are_asked_for_anew_by_the_next_call_root_2() {
    let app = app(|ctx: Ctx| Ok::<_, CallError>(ctx.ask("roots", roots())?.required()?.len()));
    for revision in [Revision::V2024_11_05, Revision::V2025_11_25, Revision::MODERN] {
        block_on(async {
            let mut folders = Vec::new();
            let mut client = able(&app, revision)
                .on_request(move |_, _| {
                    folders.push(json!({"uri": "file:///x"}));
                    json!({"roots": folders})
                })
                .connect();
            client.call("ask", ()).await.assert_text("1");
            client.notify("notifications/roots/list_changed", ());
            client.settle().await;
            client.call("ask", ()).await.assert_text("2");
        });
    }
}

#[cfg(unix)]
#[test]
fn roots_are_asked_for_where_they_were_declared_root_1_root_3() {
    let app = app(|ctx: Ctx| {
        Ok::<_, CallError>(match ctx.ask("roots", roots())? {
            Asked::Accepted(roots) => {
                let names: Vec<_> = roots.iter().map(|root| root.name.clone().unwrap_or_default()).collect();
                format!("{} {} {names:?}", roots.contains_path("/home/ada/x"), roots.contains_uri("file:///etc/passwd"))
            }
            Asked::Failed { code, .. } => format!("failed {code}"),
            other => format!("{other:?}"),
        })
    });
    for revision in Revision::ALL {
        block_on(async {
            let list = |method: &str, _: &_| {
                assert_eq!(method, "roots/list");
                json!({"roots": [{"uri": "file:///home/ada", "name": "Home", "_meta": {"x": 1}}, {"uri": "file:///srv"}]})
            };
            let mut client = able(&app, revision).on_request(list).connect();
            client.call("ask", ()).await.assert_text(r#"true false ["Home", ""]"#);
            // Not declared: not asked.
            let never = |_: &str, _: &_| -> Reply { panic!("it must not be asked") };
            let mut without = Client::builder(&app).revision(revision).on_request(never).connect();
            without.call("ask", ()).await.assert_text_contains(r#"Unsupported(Lacking(Some("{\"roots\":{}}")))"#);
            for wrong in [json!({}), json!({"roots": {}}), json!({"roots": [{"name": "x"}]})] {
                let mut client = able(&app, revision).on_request(move |_, _| wrong.clone()).connect();
                client.call("ask", ()).await.assert_text("failed -32602");
            }
        });
    }
    block_on(async {
        let refuse = |_: &str, _: &_| Reply::Error { code: -32603, message: "gone".into() };
        let mut client = able(&app, Revision::V2025_11_25).on_request(refuse).connect();
        client.call("ask", ()).await.assert_text("failed -32603");
    });
}
