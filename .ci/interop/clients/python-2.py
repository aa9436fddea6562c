"""PyPI `mcp` 2.x. It offers its newest legacy revision; the older ones it accepts are offered by setting that constant."""

import contextlib
import warnings

import checks
import mcp.client.session
import mcp.types
from mcp import Client as SdkClient
from mcp import MCPDeprecationWarning, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

warnings.simplefilter("ignore", MCPDeprecationWarning)


class Client:
    def __init__(self, row):
        self.row = row
        self.logs, self.progress, self.heard, self.strays = [], [], [], []
        self.session_of_response = None
        self.mode = {"legacy": "legacy", "auto": "auto", "pin": row["revision"]}[row["mode"]]
        if self.mode == "legacy":
            mcp.client.session.LATEST_HANDSHAKE_VERSION = row["revision"]

    @contextlib.asynccontextmanager
    async def session(self):
        async with contextlib.AsyncExitStack() as stack:
            if self.row["transport"] == "http":
                http = await stack.enter_async_context(create_mcp_http_client())
                http.event_hooks["response"].append(self.on_response)
                server = streamable_http_client(self.row["url"], http_client=http)
            elif self.row["transport"] == "sse":
                server = sse_client(self.row["url"], on_session_created=self.on_session)
            else:
                command, *arguments = self.row["command"]
                server = StdioServerParameters(command=command, args=arguments)
            self.sdk = await stack.enter_async_context(self.client(server))
            self.revision, self.server = self.sdk.protocol_version, self.sdk.server_info
            yield

    def client(self, server):
        async def elicit(_, params):
            return mcp.types.ElicitResult(**checks.elicit(params.message, params.requested_schema))

        async def sample(_, params):
            return mcp.types.CreateMessageResult(**checks.sample(params.messages[0].content.text, params.max_tokens))

        async def roots(_):
            return mcp.types.ListRootsResult(roots=checks.ROOTS)

        return SdkClient(
            server, mode=self.mode, logging_callback=self.on_log, message_handler=self.on_message,
            elicitation_callback=elicit, sampling_callback=sample, list_roots_callback=roots,
        )  # fmt: skip

    def on_session(self, session):
        self.session_of_response = session

    async def on_response(self, response):
        self.session_of_response = response.headers.get("mcp-session-id", self.session_of_response)

    def session_id(self):
        return self.session_of_response

    async def on_log(self, params):
        self.logs.append(params)

    async def on_message(self, message):
        if isinstance(message, Exception):
            self.strays.append(message)
        elif isinstance(message, mcp.types.ProgressNotification):
            self.progress.append(message.params)
        else:
            notification = message.model_dump(mode="json", by_alias=True)
            self.heard.append((notification["method"], notification.get("params")))

    async def list_page(self, cursor):
        result = await self.sdk.list_tools(cursor=cursor)
        return [tool.model_dump(mode="json", by_alias=True) for tool in result.tools], result.next_cursor

    async def pages(self, key):
        items, cursor = [], None
        while True:
            result = (await getattr(self.sdk, f"list_{key}")(cursor=cursor)).model_dump(mode="json", by_alias=True)
            items += result["resourceTemplates" if key == "resource_templates" else key]
            cursor = result["nextCursor"]
            if cursor is None:
                return items

    async def read(self, uri):
        return (await self.sdk.read_resource(uri)).model_dump(mode="json", by_alias=True)["contents"]

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
        if self.mode == "legacy":
            await self.sdk.subscribe_resource(uri)
            yield
            await self.sdk.unsubscribe_resource(uri)
        else:
            async with self.sdk.listen(resource_subscriptions=[uri]):
                yield

    @contextlib.asynccontextmanager
    async def watch_lists(self):
        if self.mode == "legacy":
            yield
        else:
            async with self.sdk.listen(tools_list_changed=True, prompts_list_changed=True):
                yield

    async def call(self, name, arguments, progress=None, level=None):
        meta = {"io.modelcontextprotocol/logLevel": level} if level else None
        result = await self.sdk.call_tool(name, arguments, progress_callback=progress, meta=meta)
        return result.model_dump(mode="json", by_alias=True)

    async def cancelled(self):
        pass  # this client tells the server itself

    async def set_level(self, level):
        await self.sdk.set_logging_level(level)

    async def ping(self):
        await self.sdk.send_ping()

    def error_code(self, error):
        return error.error.code if isinstance(error, MCPError) else None


checks.main(Client)
