// The policy of the page lets style elements in that have its nonce. The editor and the terminal make some.
export const nonce = document.documentElement.dataset["nonce"] ?? "";

// withNonce gives each style element that is made from now on the nonce: the terminal has no setting for it.
let done = false;
export function withNonce() {
  if (done) return;
  done = true;
  const make = Document.prototype.createElement;
  Document.prototype.createElement = function (this: Document, name: string, options?: ElementCreationOptions) {
    const element = make.call(this, name, options);
    if (name.toLowerCase() === "style") (element as HTMLStyleElement).nonce = nonce;
    return element;
  } as typeof make;
}
