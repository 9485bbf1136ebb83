// Stands before an endpoint that wants a token, for judges that have none: with_token.mjs URL TOKEN. Prints its port.
// A Host or Origin that is not its own is passed on as it is: the endpoint has to refuse it.
import { createServer, request } from 'node:http';

const [url, token] = [new URL(process.argv[2]), process.argv[3]];
const server = createServer((asked, answer) => {
    const headers = { ...asked.headers, authorization: `Bearer ${token}` };
    const own = new RegExp(`^(http://)?(127\\.0\\.0\\.1|localhost):${server.address().port}$`);
    for (const name of ['host', 'origin'])
        if (own.test(headers[name] ?? '')) headers[name] = headers[name].replace(own, `$1${url.host}`);
    const passed = request(url, { method: asked.method, headers }, (got) => {
        answer.writeHead(got.statusCode, got.headers);
        got.pipe(answer);
    });
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    asked.pipe(passed);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
