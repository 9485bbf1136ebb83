// Preloaded into servers that listen on all interfaces and have no option for it: loopback alone.
const net = require('node:net');
const listen = net.Server.prototype._listen2;
net.Server.prototype._listen2 = function (address, port, type, backlog, fd, ...rest) {
    const own = address === null || address === undefined || address === '::' || address === '0.0.0.0';
    return listen.call(this, own ? '127.0.0.1' : address, port, own ? 4 : type, backlog, fd, ...rest);
};
net.Server.prototype._setupListenHandle = net.Server.prototype._listen2;
