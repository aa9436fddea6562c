"""The checks of ../operations.mjs, written once for both Python SDKs.

A client gives: `session()`, an async context manager that connects, and in it `revision`, `server`, `list_page(cursor)`,
`call(name, arguments, progress=None, level=None)`, `cancelled()` (called after a call was cancelled), `set_level(level)`, `ping()`,
`pages(key)` (all items of `tools`, `resources`, `resource_templates` or `prompts`), `read(uri)`, `prompt(name, arguments)`,
`complete(kind, name, argument, value)`, `watch(uri)` and `watch_lists()`, async context managers in which changes are told, and the
lists `logs`, `progress`, `heard` and `strays` with what arrived: log, progress and other notifications (method and parameters), and
answers that no call waits for. It asks `elicit`, `sample` and `ROOTS` what to say to the server's requests. Results are plain dicts as on the wire; a JSON-RPC error is an exception that `error_code` understands.
"""

import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request

import anyio

EXPECTED = {
    "echo", "add", "sleep", "panic", "test_simple_text", "test_image_content", "test_audio_content", "test_embedded_resource",
    "test_multiple_content_types", "test_tool_with_logging", "test_error_handling", "test_tool_with_progress",
    "json_schema_2020_12_tool", "test_custom_header", "test_missing_capability", "test_logging_tool", "test_sampling",
    "test_elicitation", "test_trigger_tool_change", "test_trigger_prompt_change", "touch",
}  # fmt: skip
WATCHED = "test://watched-resource"
FILLED = {"username": "ada", "email": "ada@example.org", "name": "Ada", "color": "blue", "context": "cats"}
ROOTS = [{"uri": "file:///home/ada/notes", "name": "notes"}, {"uri": "file:///home/ada/music"}]


def elicit(message, schema):
    """What the user says: the action, and what they filled in."""
    if message == "Say no":
        return {"action": "decline"}
    return {"action": "accept", "content": {field: FILLED[field] for field in schema["properties"]}}


def sample(text, limit):
    """What the model says."""
    return {"role": "assistant", "model": "none", "stopReason": "endTurn", "content": {"type": "text", "text": f"{text} ({limit})"}}


class Failed(Exception):
    pass


def want(condition, message):
    if not condition:
        raise Failed(message)


def texts(result):
    return [block["text"] for block in result["content"] if block["type"] == "text"]


class Checks:
    def __init__(self, client, row):
        self.client = client
        self.row = row
        self.revision = row["revision"]
        self.modern = self.revision >= "2026-07-28"

    async def error(self, call, code):
        try:
            result = await call
        except Exception as error:
            got = self.client.error_code(error)
            if got is None:
                raise
            want(got == code, f"expected {code}, got {got} {error}")
            return str(error)
        raise Failed(f"expected error {code}, got the result {result}")

    async def echo(self, message):
        result = await self.client.call("echo", {"message": message})
        want(not result.get("isError") and len(result["content"]) == 1, f"echo: expected one block, got {result}")
        want(result["content"][0]["text"] == message, f"echo: expected {message!r:.300}, got {result!r:.300}")

    async def connect(self):
        want(self.client.revision == self.revision, f"expected revision {self.revision}, got {self.client.revision}")
        if self.row["mode"] != "pin":  # pinned, this client asks the server nothing when it connects
            want(self.client.server and self.client.server.name, f"expected a server name, got {self.client.server}")

    async def list(self):
        tools, cursor = [], None
        while True:
            page, cursor = await self.client.list_page(cursor)
            tools += page
            want(len(tools) < 1000, "tools/list never ends")
            if cursor is None:
                break
        names = [tool["name"] for tool in tools]
        want(len(set(names)) == len(names), f"duplicate tools: {names}")
        want(EXPECTED <= set(names), f"tools missing: {EXPECTED - set(names)}")
        for tool in tools:
            want(tool.get("description") and tool["inputSchema"].get("type") == "object", f"bad tool: {tool}")
        add = next(tool for tool in tools if tool["name"] == "add")
        schema = add.get("outputSchema")
        if self.revision >= "2025-06-18":
            want((schema or {}).get("type") == "object", f"add has no outputSchema: {add}")
        else:
            want(schema is None, f"outputSchema is not part of {self.revision}: {add}")

    async def call(self):
        for message in ["hello", "", 'Grüße, 世界 🦀 "q" \\ \n\t\u0001\u2028 </script>', "x" * 200_000]:
            await self.echo(message)

    async def structured(self):
        result = await self.client.call("add", {"a": 2, "b": 3.5})
        want(not result.get("isError") and any("5.5" in text for text in texts(result)), f"expected a text block with 5.5, got {result}")
        if self.revision >= "2025-06-18":
            want((result.get("structuredContent") or {}).get("sum") == 5.5, f'expected structuredContent {{"sum":5.5}}, got {result}')
        else:
            want(result.get("structuredContent") is None, f"structuredContent is not part of {self.revision}, got {result}")

    async def content(self):
        async def types(name, *expected):
            result = await self.client.call(name, {})
            got = tuple(block["type"] for block in result["content"])
            want(not result.get("isError") and got == expected, f"{name}: expected {expected}, got {result}")
            return result["content"][0]

        text = await types("test_simple_text", "text")
        want(text["text"] == "This is a simple text response for testing.", f"test_simple_text: got {text}")
        image = await types("test_image_content", "image")
        want(image["mimeType"] == "image/png" and base64.b64decode(image["data"])[1:4] == b"PNG", f"not a PNG: {image}")
        if self.revision >= "2025-03-26":
            audio = await types("test_audio_content", "audio")
            want(audio["mimeType"] == "audio/wav" and base64.b64decode(audio["data"])[:4] == b"RIFF", f"not a WAV: {audio}")
        else:
            result = await self.client.call("test_audio_content", {})
            want(all(block["type"] != "audio" for block in result["content"]), f"audio is not part of {self.revision}, got {result}")
        embedded = await types("test_embedded_resource", "resource")
        want(embedded["resource"]["uri"] == "test://embedded-resource" and embedded["resource"]["text"], f"test_embedded_resource: got {embedded}")
        await types("test_multiple_content_types", "text", "image", "resource")
        error = await self.client.call("test_error_handling", {})
        want(
            error["isError"] is True and texts(error)[0] == "This tool intentionally returns an error for testing",
            f"test_error_handling: got {error}",
        )

    async def progress(self):
        seen = []

        async def on_progress(progress, total, message):
            seen.append(progress)

        result = await self.client.call("sleep", {"ms": 600}, progress=on_progress)
        want(not result.get("isError") and texts(result), f"sleep: got {result}")
        want(seen, "no progress arrived")
        want(all(b > a for a, b in zip(seen, seen[1:])), f"progress does not increase: {seen}")

    async def cancel(self):
        async def ignore(progress, total, message):
            pass

        started = time.monotonic()
        with anyio.move_on_after(0.3) as scope:
            result = await self.client.call("sleep", {"ms": 30_000}, progress=ignore)
            raise Failed(f"the sleep was not cancelled: {result}")
        want(scope.cancelled_caught, "the sleep was not cancelled")
        await self.client.cancelled()
        await self.echo("after cancel")
        took = time.monotonic() - started
        want(took < 2.5, f"cancelling and the next echo took {took:.1f} s")
        await anyio.sleep(0.3)
        before = len(self.client.progress)
        await anyio.sleep(0.5)
        want(len(self.client.progress) == before, f"the cancelled sleep still reports progress: {self.client.progress[before:]}")
        want(not self.client.strays, f"the cancelled sleep was answered: {self.client.strays}")

    async def parallel(self):
        slept = False

        async def sleep():
            nonlocal slept
            await self.client.call("sleep", {"ms": 1500})
            slept = True

        async with anyio.create_task_group() as outer:
            outer.start_soon(sleep)
            async with anyio.create_task_group() as inner:
                for i in range(8):
                    inner.start_soon(self.echo, f"message {i}")
            want(not slept, "the calls were only answered after the sleep")

    async def unknown(self):
        message = await self.error(self.client.call("no_such_tool", {}), -32602)
        want("no_such_tool" in message, f"the message does not name the tool: {message}")

    async def invalid(self):
        for name, arguments in [("echo", {"message": 5}), ("add", {"a": 1})]:
            result = await self.client.call(name, arguments)
            want(result.get("isError") is True and texts(result), f"{name} {arguments}: expected isError with a text, got {result}")

    async def panic(self):
        await self.error(self.client.call("panic", {}), -32603)
        await self.echo("after panic")

    async def logging(self):
        async def run(level):
            self.client.logs.clear()
            if not self.modern and level:
                await self.client.set_level(level)
            await self.client.call("test_tool_with_logging", {}, level=level if self.modern else None)
            await anyio.sleep(0.2)
            return list(self.client.logs)

        logs = await run("debug")
        want(len(logs) == 3 and all(log.level == "info" for log in logs), f"expected 3 info messages, got {logs}")
        logs = await run("error")
        want(not logs, f"level error: expected no messages, got {logs}")
        if self.modern:
            logs = await run(None)
            want(not logs, f"no level: expected no messages, got {logs}")

    async def header(self):
        for value in ["plain", "Grüße, 世界", " padded ", "=?base64?"]:
            result = await self.client.call("test_custom_header", {"value": value})
            want(not result.get("isError") and texts(result), f"value {value!r}: got {result}")

    async def resources(self):
        resources = {item["uri"]: item.get("mimeType") for item in await self.client.pages("resources")}
        for uri, kind in [("test://static-text", "text/plain"), ("test://static-binary", "image/png"), (WATCHED, "text/plain")]:
            want(resources.get(uri) == kind, f"{uri}: expected {kind}, got {resources}")
        templates = {item["uriTemplate"]: item.get("mimeType") for item in await self.client.pages("resource_templates")}
        want(templates.get("test://template/{id}/data") == "application/json", f"templates: got {templates}")

    async def read(self):
        async def read(uri, kind):
            contents = await self.client.read(uri)
            want(len(contents) == 1 and contents[0]["uri"] == uri and contents[0]["mimeType"] == kind, f"{uri}: got {contents}")
            return contents[0]

        text = await read("test://static-text", "text/plain")
        want(text["text"] == "This is the content of the static text resource.", f"static-text: got {text}")
        image = await read("test://static-binary", "image/png")
        want(base64.b64decode(image["blob"])[1:4] == b"PNG", f"static-binary is not a PNG: {image}")
        data = json.loads((await read("test://template/a%20b/data", "application/json"))["text"])
        want(data["id"] == "a b" and data["templateTest"] is True, f"template: got {data}")
        message = await self.error(self.client.read("test://nowhere"), -32602 if self.modern else -32002)
        want("test://nowhere" in message, f"the error does not name the resource: {message}")

    async def prompts(self):
        prompts = {item["name"]: item.get("arguments") for item in await self.client.pages("prompts")}
        arguments = [(item["name"], item.get("required")) for item in prompts.get("test_prompt_with_arguments") or []]
        want(arguments == [("arg1", True), ("arg2", True)], f"prompts/list: got {prompts}")

        async def get(name, arguments, *expected):
            messages = await self.client.prompt(name, arguments)
            want(tuple(message["content"]["type"] for message in messages) == expected, f"{name}: got {messages}")
            return messages[0]["content"]

        simple = await get("test_simple_prompt", None, "text")
        want(simple["text"] == "This is a simple prompt for testing.", f"test_simple_prompt: got {simple}")
        said = await get("test_prompt_with_arguments", {"arg1": "Grüße", "arg2": "b"}, "text")
        want(said["text"] == "Prompt with arguments: arg1='Grüße', arg2='b'", f"test_prompt_with_arguments: got {said}")
        embedded = await get("test_prompt_with_embedded_resource", {"resourceUri": "test://x"}, "resource", "text")
        want(embedded["resource"]["uri"] == "test://x", f"test_prompt_with_embedded_resource: got {embedded}")
        image = await get("test_prompt_with_image", None, "image", "text")
        want(image["mimeType"] == "image/png", f"test_prompt_with_image: got {image}")
        for name, arguments, told in [("test_prompt_with_arguments", {"arg1": "a"}, "arg2"), ("no_such_prompt", {}, "no_such_prompt")]:
            message = await self.error(self.client.prompt(name, arguments), -32602)
            want(told in message, f"{name}: the error does not name {told}: {message}")

    async def complete(self):
        for kind, name, argument, value, expected in [
            ("prompt", "test_prompt_with_arguments", "arg1", "par", ["paris", "party"]),
            ("prompt", "test_prompt_with_arguments", "arg2", "x", []),
            ("resource", "test://template/{id}/data", "id", "12", ["123", "124"]),
        ]:
            values = await self.client.complete(kind, name, argument, value)
            want(values == expected, f"{name} {argument}: expected {expected}, got {values}")
        await self.error(self.client.complete("prompt", "none", "a", ""), -32602)

    async def until(self, test, what):
        with anyio.move_on_after(5):
            while not test():
                await anyio.sleep(0.02)
            return
        raise Failed(f"{what}: nothing within 5 s")

    async def subscribe(self):
        def heard():
            return [params for method, params in self.client.heard if method == "notifications/resources/updated" and params["uri"] == WATCHED]

        self.client.heard.clear()
        async with self.client.watch(WATCHED):
            await self.client.call("touch", {})
            await self.until(lambda: len(heard()) == 1, "the update")
        # A stream that its client closes has ended a moment later.
        last = time.monotonic() + (5 if self.modern else 0)
        while True:
            self.client.heard.clear()
            await self.client.call("touch", {})
            await anyio.sleep(0.3)
            if not heard():
                return
            want(time.monotonic() < last, f"updates still come after the end: {heard()}")

    async def changes(self):
        async with self.client.watch_lists():
            for kind in ["tool", "prompt"]:
                for there in [True, False]:
                    self.client.heard.clear()
                    await self.client.call(f"test_trigger_{kind}_change", {})
                    method = f"notifications/{kind}s/list_changed"
                    await self.until(lambda: any(name == method for name, _ in self.client.heard), f"the change of the {kind}s")
                    names = [item["name"] for item in await self.client.pages(f"{kind}s")]
                    want((f"test_dynamic_{kind}" in names) == there, f"there is {there} of test_dynamic_{kind}: {names}")

    async def elicit(self):
        if self.revision < "2025-06-18":
            result = await self.client.call("test_elicitation", {"message": "Who?"})
            want(result.get("isError"), f"elicitation is not part of {self.revision}, got {result}")
            return
        user = await self.client.call("test_elicitation", {"message": "Who are you?"})
        action, _, content = texts(user)[0].removeprefix("User response: action=").partition(", content=")
        filled = {"username": "ada", "email": "ada@example.org"}
        want(action == "accept" and json.loads(content) == filled, f"accepted: got {user}")
        declined = await self.client.call("test_elicitation", {"message": "Say no"})
        want(texts(declined)[0].startswith("User response: action=decline"), f"declined: got {declined}")
        await self.says("test_input_required_result_multi_round", {}, "Ada likes blue.")
        messages = await self.client.prompt("test_input_required_result_prompt", None)
        want(messages[0]["content"]["text"] == "Use this context: cats", f"a prompt that asks: got {messages}")

    async def says(self, name, arguments, expected):
        result = await self.client.call(name, arguments)
        want(not result.get("isError") and texts(result) == [expected], f"{name} {arguments}: expected {expected!r}, got {result}")

    async def sample(self):
        await self.says("test_sampling", {"prompt": "What is 2 + 2?"}, "LLM response: What is 2 + 2? (100)")

    async def roots(self):
        await self.says("test_input_required_result_list_roots", {}, "The client's roots: file:///home/ada/notes, file:///home/ada/music")

    async def ping(self):
        if not self.modern:
            await self.client.ping()


OPERATIONS = [
    "connect", "list", "call", "structured", "content", "progress", "cancel", "parallel", "unknown", "invalid", "panic", "logging",
    "header", "resources", "read", "prompts", "complete", "subscribe", "changes", "elicit", "sample", "roots", "ping",
]  # fmt: skip


def say(operation, error=None):
    reason = None
    if error is not None:
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        reason = str(error) if isinstance(error, Failed) else repr(error)
    print(json.dumps({"operation": operation, "ok": error is None, "reason": reason}), flush=True)


async def report(client, row):
    checks = Checks(client, row)
    connected = False
    closing = 0.0
    try:
        async with client.session():
            connected = True
            for operation in OPERATIONS:
                if operation in row["holes"]:
                    continue
                try:
                    with anyio.fail_after(20):
                        await getattr(checks, operation)()
                except Exception as error:
                    say(operation, error)
                else:
                    say(operation)
            closing = time.monotonic()
    except Exception as error:
        say("close" if connected else "connect", error)
        return
    try:
        took = time.monotonic() - closing
        want(took < 5, f"closing took {took:.1f} s")
        if row["transport"] == "http" and not checks.modern:
            closed_session(row, client.session_id())
        if row["transport"] == "sse":
            closed_stream(row, client.session_id())
    except Exception as error:
        say("close", error)
    else:
        say("close")


def closed_session(row, session):
    want(session, "the server gave no session id")
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-session-id": session,
        "mcp-protocol-version": row["revision"],
    }
    status = post(row["url"], headers, b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    want(status == 404, f"a request on the closed session: expected 404, got {status}")


def closed_stream(row, session):
    want(session, "the stream gave no session id")
    url = row["url"].removesuffix("/sse") + "/messages?sessionId=" + session
    status, end = 202, time.monotonic() + 5
    # The server notices the end of a stream a moment later.
    while status == 202 and time.monotonic() < end:
        time.sleep(0.02)
        status = post(url, {"content-type": "application/json"}, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    want(status == 404, f"a request after the stream was closed: expected 404, got {status}")


def post(url, headers, body):
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        return opener.open(urllib.request.Request(url, body, headers), timeout=5).status
    except urllib.error.HTTPError as error:
        return error.code


def main(make):
    row = json.loads(sys.argv[1])
    os.environ["NO_PROXY"] = "127.0.0.1"
    anyio.run(report, make(row), row)
