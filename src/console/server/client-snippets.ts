interface Snippet {
  client: string;
  /** The place of the text. */
  todo: string;
  text: string;
}

const LOCAL = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:|\/)/;

/** Returns how each MCP client is given a server, with the text to paste. */
export function clientSnippets(name: string, accessUrl: string): Snippet[] {
  const id = idOf(name);
  const bridge = ['-y', 'mcp-remote', accessUrl];
  if (accessUrl.startsWith('http:') && !LOCAL.test(accessUrl)) bridge.push('--allow-http');
  return [
    {
      client: 'Claude Desktop',
      todo: 'Settings → Developer → Edit Config. Add this to claude_desktop_config.json, and restart Claude. It needs Node.js. With an https address you can also paste the URL at Settings → Connectors → Add custom connector.',
      text: json({ mcpServers: { [id]: { command: 'npx', args: bridge } } }),
    },
    {
      client: 'Claude Code',
      todo: 'Run this in a terminal.',
      text: `claude mcp add --transport http ${id} '${accessUrl}'`,
    },
    {
      client: 'Cursor',
      todo: 'Add this to ~/.cursor/mcp.json, or to .cursor/mcp.json of a project.',
      text: json({ mcpServers: { [id]: { url: accessUrl } } }),
    },
    {
      client: 'VS Code',
      todo: 'Add this to .vscode/mcp.json of a project, or to the file of the command "MCP: Open User Configuration".',
      text: json({ servers: { [id]: { type: 'http', url: accessUrl } } }),
    },
    {
      client: 'ChatGPT',
      todo: `Settings → Apps & Connectors → Advanced settings: switch on developer mode. Then choose Create, paste this URL, and choose "No authentication".${
        accessUrl.startsWith('https:') ? '' : ' ChatGPT reaches only https addresses that are public.'
      }`,
      text: accessUrl,
    },
  ];
}

/** Returns a name that every client takes: small letters, digits and dashes. */
function idOf(name: string): string {
  const id = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return id === '' ? 'gatehouse' : id;
}

function json(value: object): string {
  return JSON.stringify(value, null, 2);
}
