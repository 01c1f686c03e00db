"""Checks, submits and follows a plan over MCP, with an approval given elsewhere.

    follow.py PROVOST WORKSPACE PLAN [URL]

With a URL over HTTP, with the token of the variable MCP_TOKEN and once without. A person's yes is typed by another process, `PROVOST approve`, as a person would. Prints one line a
fact; exits 1 where something is not as it must be.
"""

import asyncio
import json
import os
import pathlib
import subprocess
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

provost, workspace, plan_file, *url = sys.argv[1:]
plan = pathlib.Path(plan_file).read_text()


def typed(*words):
    """What a person types in the workspace."""
    done = subprocess.run([provost, "-C", workspace, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def over_http(headers):
    """The server at the URL."""
    return streamable_http_client(url[0], http_client=create_mcp_http_client(headers))


async def is_refused(server):
    """Whether there is no talking to it."""
    try:
        async with Client(server) as client:
            await client.list_tools()
    except Exception:
        return True
    return False


async def main():
    server = StdioServerParameters(command=provost, args=["-C", workspace, "mcp"])
    if url:
        assert await is_refused(over_http({"Authorization": "Bearer of-somebody-else"}))
        assert await is_refused(over_http({}))
        server = over_http({"Authorization": "Bearer " + os.environ["MCP_TOKEN"]})
    told = []

    async def progress(done, total, message):
        told.append((done, total, message))

    async with Client(server) as client:
        print("protocol", client.protocol_version)
        names = [tool.name for tool in (await client.list_tools()).tools]
        print("tools", " ".join(names))

        async def call(name, **args):
            result = await client.call_tool(name, args, progress_callback=progress)
            assert not result.is_error, result.content
            return result.structured_content

        wrong = await call("check_plan", plan=plan.replace("output.bytes", "output.bites"))
        print("wrong", wrong["ok"], [f["code"] for f in wrong["findings"] if f["severity"] == "error"])
        right = await call("check_plan", plan=plan)
        print("right", right["ok"])
        run = await call("submit_plan", plan=plan, wait_seconds=60)
        print("submitted", run["status"], run["waits_for"]["step"])
        waits = json.loads(typed("runs", "--json"))["runs"][0]
        assert waits["id"] == run["run"], waits
        digest = waits["waiting_for"]["digest"].removeprefix("sha256:")[:16]
        following = asyncio.create_task(call("run_status", run=run["run"], wait_seconds=60))
        await asyncio.to_thread(typed, "approve", f"{run['run']}@{digest}", "--record")
        now = await following
        while now["status"] in ("waiting_approval", "running"):
            now = await call("run_status", run=run["run"], wait_seconds=60)
        print("ended", now["status"])
        assert told, "no progress was told"


asyncio.run(main())
