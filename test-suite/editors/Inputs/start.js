// Runs the VS Code extension against stand-ins of the editor and of the client library: start.js EXTENSION
const Module = require("module");
const settings = { compiler: "cutec", mlirServer: "" };
class LanguageClient {
  constructor(id, name, server, client) {
    Object.assign(this, { id, name, server, client });
  }
  async start() {
    const [{ language }] = this.client.documentSelector;
    console.log(`start ${this.server.command} ${this.server.args.join(" ")} for ${language}`);
    if (this.server.command === "absent") throw new Error("ENOENT");
  }
  async stop() {
    console.log(`stop ${this.server.command}`);
  }
}
const listeners = {};
const listen = (name) => (listener) => ((listeners[name] = listener), { dispose() {} });
const workspace = {
  textDocuments: [],
  getConfiguration: () => ({ get: (name) => settings[name] }),
  onDidOpenTextDocument: listen("open"),
  onDidChangeConfiguration: listen("configuration"),
};
const standIns = {
  vscode: {
    workspace,
    window: { showErrorMessage: (message) => console.log(`error: ${message}`) },
    commands: { registerCommand: (name, run) => listen(name)(run) },
  },
  "vscode-languageclient/node": { LanguageClient },
};
const load = Module._load;
Module._load = (name, ...rest) => standIns[name] ?? load(name, ...rest);

const extension = require(require("path").resolve(process.argv[2]));
const open = async (languageId) => {
  workspace.textDocuments.push({ languageId });
  await listeners.open({ languageId });
};
(async () => {
  const context = { subscriptions: [] };
  await extension.activate(context);
  console.log("no file is open");
  await open("cute");
  await open("cute");
  await open("python");
  await open("mlir");
  console.log("set");
  settings.mlirServer = "/opt/cute-lsp-server";
  await listeners.configuration({ affectsConfiguration: (name) => name === "cute" });
  console.log("restart");
  settings.compiler = "absent";
  await listeners["cute.restart"]();
  console.log("end");
  await extension.deactivate();
})();
