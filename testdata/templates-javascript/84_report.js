const r = process.report.getReport(); console.log(r.header.nodejsVersion, r.header.commandLine, r.header.cwd, r.header.processId === process.pid, r.javascriptStack.message, r.libuv.length > 3, r.header.threadId);
console.log(process._getActiveHandles().length, process._getActiveRequests().length, process.getActiveResourcesInfo());
