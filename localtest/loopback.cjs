// Loaded before a Node server that listens on all interfaces: it listens on a free port of the loopback interface
// instead, and prints the address.
const net = require('net');

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  this.once('listening', () => console.log('Listening on 127.0.0.1:' + this.address().port));
  return listen.call(this, 0, '127.0.0.1', ...args.filter((a) => typeof a === 'function'));
};
