// A browser starts no worker for a page that is a file, and the search is one. There, a
// hidden frame takes its place: it runs the same script, and messages go both ways.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.addEventListener("message", (event) => this.onmessage?.(event));
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...urls) => Promise.all(urls.map((each) => run(inside, each)));
      this.frame = frame;
      this.ready = run(inside, url);
    }

    postMessage(data) {
      const { contentWindow } = this.frame;
      this.ready.then(() =>
        contentWindow.dispatchEvent(new MessageEvent("message", { data })),
      );
    }

    terminate() {
      this.frame.remove();
    }
  };

  const run = (inside, url) =>
    new Promise((resolve, reject) => {
      const script = inside.document.createElement("script");
      script.src = new URL(url, location.href);
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url} does not load`));
      inside.document.body.append(script);
    });
}
