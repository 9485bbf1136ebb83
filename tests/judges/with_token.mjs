// Stands before an endpoint that wants a token, for judges that have none: with_token.mjs URL TOKEN. Prints its port.
import { createServer, request } from 'node:http';

const [url, token] = [new URL(process.argv[2]), process.argv[3]];
const server = createServer((asked, answer) => {
    const headers = { ...asked.headers, host: url.host, authorization: `Bearer ${token}` };
    const passed = request(url, { method: asked.method, headers }, (got) => {
        answer.writeHead(got.statusCode, got.headers);
        got.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
