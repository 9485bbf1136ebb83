// A server of the official SDK, of both eras: echo, add, slow (progress). Prints its port.
import { createServer } from 'node:http';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { z } from 'zod';

function makeServer() {
    const server = new McpServer({ name: 'judge', version: '1.0.0' });
    server.registerTool('echo', { description: 'echo', inputSchema: z.object({ message: z.string() }) },
        async ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }));
    server.registerTool('add', { description: 'add', inputSchema: z.object({ a: z.number(), b: z.number() }) },
        async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }));
    return server;
}

const handler = toNodeHandler(createMcpHandler(makeServer));
const http = createServer((request, response) => handler(request, response));
http.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => console.log(http.address().port));
