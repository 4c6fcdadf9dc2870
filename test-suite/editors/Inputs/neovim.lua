-- What somebody does in the editor, by the functions behind its keys. Written for Neovim 0.7, which Debian has.
local function say(text) io.stdout:write(text .. "\n") end

local buffer = vim.api.nvim_get_current_buf()
vim.bo.filetype = "cute"
local id = vim.lsp.start_client({ name = "cutec", cmd = { vim.env.CUTEC, "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(buffer, id)

local function wait(what, condition)
  if not vim.wait(60000, condition, 20) then
    say("timeout: " .. what)
    vim.cmd("cquit")
  end
end

wait("diagnostics", function() return #vim.diagnostic.get(buffer) > 0 end)
for _, found in ipairs(vim.diagnostic.get(buffer)) do
  say("diagnostic: " .. found.message)
end

local function ask(method, line, column)
  vim.api.nvim_win_set_cursor(0, { line, column })
  local params = vim.lsp.util.make_position_params()
  if method == "textDocument/references" then params.context = { includeDeclaration = true } end
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 60000)
  return answers and answers[id] and answers[id].result
end

local function hover(line, column, wanted)
  local text
  wait("hover", function()
    local answer = ask("textDocument/hover", line, column)
    text = answer and answer.contents.value
    return text and text:find(wanted, 1, true)
  end)
  say("hover: " .. wanted)
end

hover(6, 11, "Twice.")
hover(4, 6, "(4,2):(2,1)")
local places = ask("textDocument/definition", 6, 11)
say("definition: line " .. places[1].range.start.line + 1)

say("references: " .. #ask("textDocument/references", 2, 4))
say("symbols: " .. ask("textDocument/documentSymbol", 1, 0)[1].name)
local items = ask("textDocument/completion", 6, 13)
items = items.items or items
for _, item in ipairs(items) do
  if item.label == "twice" then say("completion: twice") end
end
say("signature: " .. ask("textDocument/signatureHelp", 6, 15).signatures[1].label)

-- What the help line of the diagnostic proposes, as its key would do it.
vim.api.nvim_win_set_cursor(0, { 5, 6 })
local params = vim.lsp.util.make_range_params()
params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics(buffer, 4) }
local actions = vim.lsp.buf_request_sync(buffer, "textDocument/codeAction", params, 60000)[id].result
say("action: " .. actions[1].title)
vim.lsp.util.apply_workspace_edit(actions[1].edit, "utf-16")

vim.api.nvim_win_set_cursor(0, { 6, 11 })
vim.lsp.buf.rename("doubled")
wait("rename", function() return vim.fn.getline(2):find("doubled", 1, true) end)
vim.lsp.buf.formatting_sync(nil, 60000)
vim.cmd("write")
vim.cmd("qall")
