"""PyPI `mcp` 1.x. It always offers its newest revision; the older ones it accepts are offered by setting that constant."""

import contextlib

import checks
import mcp.types
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


class Client:
    def __init__(self, row):
        self.row = row
        self.logs, self.progress, self.heard, self.strays = [], [], [], []
        self.session_id = lambda: None
        mcp.types.LATEST_PROTOCOL_VERSION = row["revision"]

    @contextlib.asynccontextmanager
    async def session(self):
        async with contextlib.AsyncExitStack() as stack:
            if self.row["transport"] == "http":
                read, write, get_session_id = await stack.enter_async_context(streamable_http_client(self.row["url"]))
            elif self.row["transport"] == "sse":
                read, write = await stack.enter_async_context(sse_client(self.row["url"], on_session_created=self.on_session))
            else:
                command, *arguments = self.row["command"]
                read, write = await stack.enter_async_context(stdio_client(StdioServerParameters(command=command, args=arguments)))
            self.sdk = await stack.enter_async_context(self.client_session(read, write))
            result = await self.sdk.initialize()
            self.revision, self.server = result.protocolVersion, result.serverInfo
            if self.row["transport"] == "http":
                session = get_session_id()
                self.session_id = lambda: session
            yield

    def client_session(self, read, write):
        async def elicit(_, params):
            return mcp.types.ElicitResult(**checks.elicit(params.message, params.requestedSchema))

        async def sample(_, params):
            return mcp.types.CreateMessageResult(**checks.sample(params.messages[0].content.text, params.maxTokens))

        async def roots(_):
            return mcp.types.ListRootsResult(roots=checks.ROOTS)

        return ClientSession(
            read, write, logging_callback=self.on_log, message_handler=self.on_message,
            elicitation_callback=elicit, sampling_callback=sample, list_roots_callback=roots,
        )  # fmt: skip

    def on_session(self, session):
        self.session_id = lambda: session

    async def on_log(self, params):
        self.logs.append(params)

    async def on_message(self, message):
        if isinstance(message, Exception):
            self.strays.append(message)
        elif isinstance(getattr(message, "root", None), mcp.types.ProgressNotification):
            self.progress.append(message.root.params)
        elif isinstance(message, mcp.types.ServerNotification):
            notification = message.model_dump(mode="json", by_alias=True)
            self.heard.append((notification["method"], notification["params"]))

    async def list_page(self, cursor):
        params = mcp.types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        result = await self.sdk.list_tools(params=params)
        return [tool.model_dump(mode="json", by_alias=True) for tool in result.tools], result.nextCursor

    async def pages(self, key):
        items, cursor = [], None
        while True:
            params = mcp.types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            result = (await getattr(self.sdk, f"list_{key}")(params=params)).model_dump(mode="json", by_alias=True)
            items += result["resourceTemplates" if key == "resource_templates" else key]
            cursor = result["nextCursor"]
            if cursor is None:
                return items

    async def read(self, uri):
        return (await self.sdk.read_resource(mcp.types.AnyUrl(uri))).model_dump(mode="json", by_alias=True)["contents"]

    async def prompt(self, name, arguments):
        return (await self.sdk.get_prompt(name, arguments)).model_dump(mode="json", by_alias=True)["messages"]

    async def complete(self, kind, name, argument, value):
        if kind == "prompt":
            ref = mcp.types.PromptReference(type="ref/prompt", name=name)
        else:
            ref = mcp.types.ResourceTemplateReference(type="ref/resource", uri=name)
        return (await self.sdk.complete(ref, {"name": argument, "value": value})).completion.values

    @contextlib.asynccontextmanager
    async def watch(self, uri):
        await self.sdk.subscribe_resource(mcp.types.AnyUrl(uri))
        yield
        await self.sdk.unsubscribe_resource(mcp.types.AnyUrl(uri))

    @contextlib.asynccontextmanager
    async def watch_lists(self):
        yield

    async def call(self, name, arguments, progress=None, level=None):
        result = await self.sdk.call_tool(name, arguments, progress_callback=progress)
        return result.model_dump(mode="json", by_alias=True)

    async def cancelled(self):
        # This client stops waiting without a word, so the notification is sent by hand; its last request was the cancelled one.
        params = mcp.types.CancelledNotificationParams(requestId=self.sdk._request_id - 1)
        notification = mcp.types.CancelledNotification(params=params)
        await self.sdk.send_notification(mcp.types.ClientNotification(notification))

    async def set_level(self, level):
        await self.sdk.set_logging_level(level)

    async def ping(self):
        await self.sdk.send_ping()

    def error_code(self, error):
        return error.error.code if isinstance(error, McpError) else None


checks.main(Client)
