require('v8').setHeapSnapshotNearHeapLimit; const a = []; try { for (;;) a.push(new Array(1e6).fill(a.length)); } catch (e) { console.log(e.message); }
