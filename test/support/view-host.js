import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  AppBridge,
  buildAllowAttribute,
  getToolUiResourceUri,
  isToolVisibilityModelOnly,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
} from '@modelcontextprotocol/ext-apps/app-bridge';

/*
 * The page of a host of MCP Apps, made of the official parts: the client of the SDK and AppBridge. The document is in a frame
 * inside of a frame of another origin (view-sandbox.js). Tests call the functions that it sets on `globalThis`.
 */

/** Everything that the document asked for, oldest first. */
const events = [];
let client;
let tools = [];
let bridge;
let refuses = false;

globalThis.events = events;

/** Connects to a server of Gatehouse, and returns the tools of its list. */
globalThis.open = async ({ url, form = false }) => {
  const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: [RESOURCE_MIME_TYPE] } };
  client = new Client(
    { name: 'host', version: '1.0.0' },
    { capabilities: { extensions, ...(form ? { elicitation: {} } : {}) } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  tools = (await client.listTools()).tools;
  return tools;
};

/** Calls a tool and shows its result in the document that the tool names. Returns the result. */
globalThis.show = async ({ name, args, sandbox, theme = 'light', without = [], context = {} }) => {
  const tool = tools.find((one) => one.name === name);
  const uri = getToolUiResourceUri(tool);
  const [content] = (await client.readResource({ uri })).contents;
  const { _meta: meta } = content;
  const { csp, permissions } = meta.ui;

  document.querySelector('iframe')?.remove();
  const frame = document.createElement('iframe');
  frame.title = 'The view';
  frame.setAttribute('sandbox', 'allow-scripts allow-same-origin');
  frame.setAttribute('allow', buildAllowAttribute(permissions));
  document.body.append(frame);

  const offered = { openLinks: {}, serverTools: {}, message: { text: {} }, updateModelContext: { text: {} } };
  const hostContext = { theme, toolInfo: { tool }, displayMode: 'inline', ...context };
  for (const one of without) delete offered[one];
  bridge = new AppBridge(client, { name: 'host', version: '1.0.0' }, offered, { hostContext });
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  const ready = new Promise((resolve) => (bridge.onsandboxready = resolve));
  Object.assign(bridge, {
    async onopenlink({ url }) {
      events.push({ openLink: url });
      return refuses ? { isError: true } : {};
    },
    async onmessage({ role, content }) {
      events.push({ message: content[0].text, role });
      return {};
    },
    async onupdatemodelcontext({ content }) {
      events.push({ informed: content[0].text });
      return {};
    },
    async onrequestdisplaymode({ mode }) {
      events.push({ mode });
      return { mode };
    },
  });
  bridge.onsizechange = ({ height }) => {
    frame.style.height = `${height}px`;
    events.push({ height });
  };
  frame.src = `${sandbox}/?csp=${encodeURIComponent(JSON.stringify(csp))}`;
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  // The bridge sets handlers of its own when it connects.
  bridge.oncalltool = async ({ name: called, arguments: callArgs }) => {
    events.push({ called, args: callArgs });
    const found = tools.find((one) => one.name === called);
    if (!found || isToolVisibilityModelOnly(found)) throw new Error('The host refuses this tool.');
    return client.callTool({ name: called, arguments: callArgs });
  };
  await ready;
  await bridge.sendSandboxResourceReady({ html: content.text, csp, permissions });
  await initialized;
  await bridge.sendToolInput({ arguments: args });
  const result = await client.callTool({ name, arguments: args });
  await bridge.sendToolResult(result);
  return result;
};

/** Shows a result that the server did not send, as a host without honesty could. */
globalThis.pretend = (result) => bridge.sendToolResult(result);
globalThis.changeContext = (context) => bridge.sendHostContextChange(context);
globalThis.callTool = (name, args) => client.callTool({ name, arguments: args });
globalThis.refuseLinks = () => (refuses = true);
