// Loaded before the Portkey gateway. The gateway listens on all interfaces: with this file, on a free port of the
// loopback interface, which is printed.
const net = require('net');

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => console.log('Listening on 127.0.0.1:' + this.address().port));
  return listen.call(this, 0, '127.0.0.1', ...args.filter((a) => typeof a === 'function'));
};

// Gateway 1.15.2 adds headers to the answers of fetch, which fails for streams: their headers cannot be changed.
const { fetch, Response } = globalThis;
globalThis.fetch = async (...args) => {
  const answer = await fetch(...args);
  return new Response(answer.body, answer);
};
