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
  }
  async stop() {
    console.log(`stop ${this.server.command}`);
  }
}
const standIns = {
  vscode: { workspace: { getConfiguration: () => ({ get: (name) => settings[name] }) } },
  "vscode-languageclient/node": { LanguageClient },
};
const load = Module._load;
Module._load = (name, ...rest) => standIns[name] ?? load(name, ...rest);

const extension = require(require("path").resolve(process.argv[2]));
(async () => {
  await extension.activate();
  await extension.deactivate();
  settings.mlirServer = "/opt/cute-lsp-server";
  await extension.activate();
})();
