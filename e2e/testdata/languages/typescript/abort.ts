process.abort();
