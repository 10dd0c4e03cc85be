class Failure extends Error { constructor(readonly code: number) { super("failed"); } }
setTimeout(() => { throw new Failure(3); }, 1);
