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
        self.logs, self.progress, self.strays = [], [], []
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
            self.sdk = await stack.enter_async_context(ClientSession(read, write, logging_callback=self.on_log, message_handler=self.on_message))
            result = await self.sdk.initialize()
            self.revision, self.server = result.protocolVersion, result.serverInfo
            if self.row["transport"] == "http":
                session = get_session_id()
                self.session_id = lambda: session
            yield

    def on_session(self, session):
        self.session_id = lambda: session

    async def on_log(self, params):
        self.logs.append(params)

    async def on_message(self, message):
        if isinstance(message, Exception):
            self.strays.append(message)
        elif isinstance(getattr(message, "root", None), mcp.types.ProgressNotification):
            self.progress.append(message.root.params)

    async def list_page(self, cursor):
        params = mcp.types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
        result = await self.sdk.list_tools(params=params)
        return [tool.model_dump(mode="json", by_alias=True) for tool in result.tools], result.nextCursor

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
