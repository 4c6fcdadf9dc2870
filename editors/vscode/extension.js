// Starts the language servers: cute-lsp-server for .mlir, `cutec lsp` for .cute.
"use strict";
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const SERVERS = [
  { language: "mlir", setting: "mlirServer", args: [] },
  { language: "cute", setting: "compiler", args: ["lsp"] },
];

let clients = [];

async function activate() {
  const settings = workspace.getConfiguration("cute");
  clients = SERVERS.filter(({ setting }) => settings.get(setting)).map(({ language, setting, args }) => {
    const server = { command: settings.get(setting), args };
    const client = { documentSelector: [{ language }] };
    return new LanguageClient(`cute.${language}`, `cutec (.${language})`, server, client);
  });
  // One that cannot start says so itself, and the other one is not to suffer.
  await Promise.allSettled(clients.map((client) => client.start()));
}

async function deactivate() {
  await Promise.allSettled(clients.map((client) => client.stop()));
}

module.exports = { activate, deactivate };
