// Starts the language servers, `cutec lsp` for .cute and cute-lsp-server for .mlir, each with the first file of its language.
"use strict";
const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const SERVERS = [
  { language: "cute", setting: "compiler", args: ["lsp"] },
  { language: "mlir", setting: "mlirServer", args: [] },
];

// By language, from the moment on that they start.
const clients = new Map();

async function start(language) {
  const server = SERVERS.find((server) => server.language === language);
  const command = server && workspace.getConfiguration("cute").get(server.setting);
  if (!command || clients.has(language)) return;
  const name = `cutec (.${language})`;
  const client = new LanguageClient(`cute.${language}`, name, { command, args: server.args }, { documentSelector: [{ language }] });
  clients.set(language, client);
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(`${command} does not start: is it on the search path? The setting cute.${server.setting} names another one. ${error.message ?? error}`);
  }
}

async function stop() {
  const running = [...clients.values()];
  clients.clear();
  await Promise.allSettled(running.map((client) => client.stop()));
}

function startForOpenFiles() {
  const languages = new Set(workspace.textDocuments.map((document) => document.languageId));
  return Promise.all([...languages].map(start));
}

async function activate(context) {
  const restart = async () => {
    await stop();
    await startForOpenFiles();
  };
  context.subscriptions.push(
    workspace.onDidOpenTextDocument((document) => start(document.languageId)),
    workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("cute") && restart()),
    commands.registerCommand("cute.restart", restart),
  );
  await startForOpenFiles();
}

module.exports = { activate, deactivate: stop };
