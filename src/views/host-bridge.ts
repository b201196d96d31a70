import { isObject, objectOf, textOf, type Json, type JsonObject } from './json-values.ts';

/*
 * JSON-RPC with the host over postMessage (MCP Apps 2026-01-26, "Communication Protocol"). The host is the parent frame. Its
 * origin is unknown to a document without an origin, so messages count by their sender.
 */

const PROTOCOL_VERSION = '2026-01-26';
const METHOD_NOT_FOUND = -32601;

/** The host as its answer to `ui/initialize` describes it. */
export interface Host {
  /** Whether it declared a capability, such as `openLinks`. */
  can(capability: string): boolean;
  /** Opens an address for the user. Returns false when the host or the user refused. */
  openLink(url: string): Promise<boolean>;
  /** Sends a message of the user to the conversation. Returns false when the host refused. */
  sendMessage(text: string): Promise<boolean>;
  /** Adds a text to the model's context of the next turn. */
  informModel(text: string): void;
  /** Calls a tool of this server. @throws Error with the words of the host or the tool */
  callTool(name: string, args: JsonObject): Promise<JsonObject>;
  setDisplayMode(mode: 'inline' | 'fullscreen'): Promise<void>;
}

/** Receivers of the host's notifications. */
export interface Receivers {
  onContext(context: JsonObject): void;
  onInput(args: JsonObject): void;
  onResult(result: JsonObject): void;
  onCancelled(): void;
}

/** Connects to the host. Its context is reported before this returns. */
export async function connectToHost(receivers: Receivers): Promise<Host> {
  const host = window.parent;
  const waiting = new Map<number, { resolve(result: JsonObject): void; reject(error: Error): void }>();
  let lastId = 0;
  const send = (message: object) => host.postMessage({ jsonrpc: '2.0', ...message }, '*');
  const request = (method: string, params: JsonObject): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, { resolve, reject });
      send({ id, method, params });
    });

  window.addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
    if (source !== host || !isObject(data) || data['jsonrpc'] !== '2.0') return;
    const { id = null, method, params = {}, result, error } = data;
    if (typeof method === 'string') {
      if (id === null) receive(receivers, method, objectOf(params));
      else send({ id, ...answerTo(method) });
      return;
    }
    const asked = typeof id === 'number' ? waiting.get(id) : undefined;
    if (!asked || typeof id !== 'number') return;
    waiting.delete(id);
    if (error === undefined) asked.resolve(objectOf(result));
    else asked.reject(new Error(textOf(objectOf(error)['message']) ?? 'The host refused.'));
  });

  const { hostCapabilities, hostContext } = await request('ui/initialize', {
    appInfo: { name: 'Gatehouse', version: '1' },
    appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    protocolVersion: PROTOCOL_VERSION,
  });
  receivers.onContext(objectOf(hostContext));
  send({ method: 'ui/notifications/initialized', params: {} });
  reportHeight((height) => send({ method: 'ui/notifications/size-changed', params: { height } }));
  return hostOf(request, objectOf(hostCapabilities));
}

function hostOf(
  request: (method: string, params: JsonObject) => Promise<JsonObject>,
  capabilities: JsonObject,
): Host {
  const isDone = (asked: Promise<JsonObject>) =>
    asked.then(
      ({ isError }) => isError !== true,
      () => false,
    );
  return {
    can: (capability) => isObject(capabilities[capability]),
    openLink: (url) => isDone(request('ui/open-link', { url })),
    sendMessage: (text) => isDone(request('ui/message', { role: 'user', content: [{ type: 'text', text }] })),
    informModel(text) {
      if (!isObject(capabilities['updateModelContext'])) return;
      void isDone(request('ui/update-model-context', { content: [{ type: 'text', text }] }));
    },
    async callTool(name, args) {
      const result = await request('tools/call', { name, arguments: args });
      const { structuredContent, isError } = result;
      if (isError === true) {
        const { message } = objectOf(objectOf(structuredContent)['error']);
        throw new Error(textOf(message) ?? firstText(result) ?? 'The call failed.');
      }
      return objectOf(structuredContent);
    },
    async setDisplayMode(mode) {
      await isDone(request('ui/request-display-mode', { mode }));
    },
  };
}

function firstText({ content }: JsonObject): string | undefined {
  return Array.isArray(content) ? textOf(objectOf(content[0])['text']) : undefined;
}

function receive(receivers: Receivers, method: string, params: JsonObject): void {
  if (method === 'ui/notifications/host-context-changed') receivers.onContext(params);
  else if (method === 'ui/notifications/tool-input') receivers.onInput(objectOf(params['arguments']));
  else if (method === 'ui/notifications/tool-result') receivers.onResult(params);
  else if (method === 'ui/notifications/tool-cancelled') receivers.onCancelled();
}

/** Answers a request of the host. A frame that ends has nothing to save. */
function answerTo(method: string): { result: Json } | { error: JsonObject } {
  return method === 'ping' || method === 'ui/resource-teardown'
    ? { result: {} }
    : { error: { code: METHOD_NOT_FOUND, message: `There is no method ${method} here.` } };
}

/** Reports the height of the content whenever it changes. */
function reportHeight(report: (height: number) => void): void {
  let last = 0;
  new ResizeObserver(() => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === last) return;
    last = height;
    report(height);
  }).observe(document.body);
}
