const m = process.memoryUsage(), v8 = require('v8'), h = v8.getHeapStatistics();
console.log(m.rss > 1e7 && m.rss < 2e8, m.heapTotal > 3e6 && m.heapTotal < 3e7, m.heapUsed > 2e6 && m.heapUsed < 2e7, h.heap_size_limit, h.number_of_native_contexts, h.number_of_detached_contexts);
console.log(process.constrainedMemory() >= 0, process.availableMemory() > 1e6, v8.cachedDataVersionTag() > 0, process.resourceUsage().maxRSS > 1000);
console.log(v8.getHeapSpaceStatistics().map(s => s.space_name).join());
