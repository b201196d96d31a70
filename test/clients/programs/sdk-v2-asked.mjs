// The official SDK's client, v2, asked for its person, its model and its roots; told of changes and of progress.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [, , url, mode] = process.argv;
let changed = () => {};
const heard = new Promise((resolve) => (changed = resolve));
const client = new Client(
  { name: 'v2', version: '1' },
  {
    versionNegotiation: { mode },
    capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    listChanged: { tools: { onChanged: () => changed(true), debounceMs: 0, autoRefresh: false } },
  },
);
client.setRequestHandler('elicitation/create', () => ({
  action: 'accept',
  content: { response: 'me', name: 'Ada', color: 'blue', ok: true },
}));
client.setRequestHandler('sampling/createMessage', () => ({
  role: 'assistant',
  model: 'm',
  content: { type: 'text', text: 'Paris' },
}));
client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///tmp', name: 'tmp' }] }));
await client.connect(new StreamableHTTPClientTransport(new URL(url)));

const call = async (name, args = {}, options = {}) =>
  (await client.callTool({ name, arguments: args }, options)).content[0].text;
const progress = [];
const said = {
  era: client.getProtocolEra(),
  form: await call('test_elicitation', { message: 'Who?' }),
  model: await call('test_sampling', { prompt: 'Capital of France?' }),
  rounds: await call('test_input_required_result_multi_round'),
  together: await call('test_input_required_result_multiple_inputs'),
  state: await call('test_input_required_result_request_state'),
  again: await call('test_reconnection'),
  slow: await call(
    'test_tool_with_progress',
    {},
    { onprogress: ({ progress: done }) => progress.push(done) },
  ),
};
await call('test_trigger_tool_change');
const told = await Promise.race([heard, new Promise((resolve) => setTimeout(resolve, 3000, false))]);
await client.close();
console.log(JSON.stringify({ ...said, progress, told }));
