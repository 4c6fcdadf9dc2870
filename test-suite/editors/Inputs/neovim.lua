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
  local answers = vim.lsp.buf_request_sync(buffer, method, vim.lsp.util.make_position_params(), 60000)
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

vim.api.nvim_win_set_cursor(0, { 6, 11 })
vim.lsp.buf.rename("doubled")
wait("rename", function() return vim.fn.getline(2):find("doubled", 1, true) end)
vim.lsp.buf.formatting_sync(nil, 60000)
vim.cmd("write")
vim.cmd("qall")
