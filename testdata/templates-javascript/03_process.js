console.log(process.pid, process.ppid, process.cwd(), process.umask(), process.getuid(), process.getgid(), process.getgroups());
console.log(process.version, process.arch, process.platform, process.release, process.config.variables.napi_build_version, process.exitCode);
console.log(Object.keys(process).sort().join(' '));
console.log(process.allowedNodeEnvironmentFlags.size, process.features, process.debugPort, process.stdin.isTTY);
