// The official clients of both eras use the agent as an MCP server, over HTTP and over stdio.
//   node judge.mjs PROGRAM PROJECT PORT TOKEN
import assert from 'node:assert/strict';
import { Client as Legacy } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [program, project, port, token] = process.argv.slice(2);
const url = new URL(`http://127.0.0.1:${port}/mcp`);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const stdio = { command: program, args: ['mcp-serve', project] };
const info = { name: 'judge', version: '1' };
const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } };
const auto = { versionNegotiation: { mode: 'auto' } };
const clients = [
    ['legacy http', () => new Legacy(info), () => new LegacyHttp(url, { requestInit })],
    ['legacy stdio', () => new Legacy(info), () => new LegacyStdio(stdio)],
    ['v2 legacy http', () => new Client(info), () => new StreamableHTTPClientTransport(url, { requestInit })],
    ['v2 modern http', () => new Client(info, pinned), () => new StreamableHTTPClientTransport(url, { requestInit })],
    ['v2 auto http', () => new Client(info, auto), () => new StreamableHTTPClientTransport(url, { requestInit })],
    ['v2 modern stdio', () => new Client(info, pinned), () => new StdioClientTransport(stdio)],
    ['v2 auto stdio', () => new Client(info, auto), () => new StdioClientTransport(stdio)],
];

async function judge(name, makeClient, makeTransport) {
    const client = makeClient();
    const call = (tool, args, options) =>
        name.startsWith('legacy')
            ? client.callTool({ name: tool, arguments: args }, undefined, options)
            : client.callTool({ name: tool, arguments: args }, options);
    await client.connect(makeTransport());
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    assert.deepEqual(tools.sort(), ['ask_agent', 'decide_approval', 'list_approvals', 'list_chats',
        'read_history', 'send_message']);
    const chat = `judge ${name}`;
    const first = await call('ask_agent', { text: 'hello', chat, messageId: name });
    assert.ok(first.content[0].text.includes('You said: hello'), JSON.stringify(first));
    const again = await call('ask_agent', { text: 'hello', chat, messageId: name });
    assert.equal(again.structuredContent.runId, first.structuredContent.runId);
    const told = [];
    // the model's fault counts once a text
    const slow = (what) => `[[plain]] [[fault:drip bytes=60 ms=40]] ${name} ${what} three four five six seven eight nine ten`;
    await call('ask_agent', { text: slow('told'), chat }, { onprogress: (progress) => told.push(progress.progress) });
    assert.ok(told.length >= 2, `progress was told ${told.length} times`);
    assert.ok(told.every((number, i) => i === 0 || number > told[i - 1]));
    const history = await call('read_history', { chatKey: `api:chat:${chat}`, limit: 50 });
    assert.ok(history.content[0].text.includes('You said: hello'));
    const wrong = await call('read_history', { limit: 1 });
    assert.equal(wrong.isError, true);
    const parked = await call('ask_agent', {
        text: 'please [[call exec_shell {"command":"touch judged"}]]', chat: `${chat} asks` });
    assert.equal(parked.structuredContent.status, 'parked');
    const id = parked.structuredContent.pendingApproval.id;
    assert.ok((await call('list_approvals', {})).content[0].text.includes(id));
    assert.ok(!(await call('decide_approval', { id, decision: 'reject' })).isError);
    const cancel = new AbortController();
    const cancelled = call('ask_agent', { text: slow('left'), chat: `${chat} left` },
        { signal: cancel.signal, onprogress: () => cancel.abort('enough') });
    await assert.rejects(cancelled);
    await client.listTools(); // goes on
    await client.close();
    console.log(`ok ${name}`);
}

let failed = 0;
for (const [name, makeClient, makeTransport] of clients) {
    try {
        await judge(name, makeClient, makeTransport);
    } catch (error) {
        console.log(`not ok ${name}: ${error.stack}`);
        failed++;
    }
}
process.exit(failed === 0 ? 0 : 1);
