// A streaming answer as Node's documentation writes it: a Readable that pushes until push() returns false, piped
// into the response (https://nodejs.org/docs/latest-v20.x/api/stream.html#readable_readsize).
//
//   PORT=8000 node node_stream.mjs     GET /health, GET /export
//
// CHUNK: bytes of a push. BYTES: of the whole answer. YIELD=1: the cure that its community gives, setImmediate
// before each push, so that the event loop turns.
import http from 'node:http';
import { Readable } from 'node:stream';

const size = Number(process.env.CHUNK ?? 1024);
const total = Number(process.env.BYTES ?? 2 ** 31);
const chunk = Buffer.alloc(size, 'x');

class Rows extends Readable {
  left = total;

  _read() {
    if (process.env.YIELD) setImmediate(() => this.next());
    else this.next();
  }

  next() {
    if (this.left <= 0) return this.push(null);
    this.left -= size;
    this.push(chunk);
  }
}

http.createServer((request, response) => {
  if (request.url === '/export') new Rows().pipe(response);
  else response.end('ok');
}).listen(Number(process.env.PORT), '127.0.0.1');
