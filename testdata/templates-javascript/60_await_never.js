export {}; await new Promise(() => {});
