import { randomUUID } from 'node:crypto';

/** The answer of a fixture. */
export type Answers = { [member: string]: unknown };
/** A client's answers, by the key of their question. */
type Given = { [key: string]: { [member: string]: unknown } };

/** A fixture that asks its client. It gets its input, the answers so far, and its own state. */
type Ask = (input: Answers, given: Given, state: string | undefined) => Answers;

const text = (words: string): Answers => ({ content: [{ type: 'text', text: words }] });
const ask = (inputRequests: object, requestState?: object): Answers => ({
  inputRequests,
  ...(requestState ? { requestState: JSON.stringify({ ...requestState, nonce: randomUUID() }) } : {}),
});

function userSays(words: string) {
  return { role: 'user', content: { type: 'text', text: words } };
}

function form(message: string, properties: { [name: string]: object }, required: string[] = []) {
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties, required } },
  };
}

function sampling(words: string, maxTokens: number) {
  return {
    method: 'sampling/createMessage',
    params: { messages: [userSays(words)], maxTokens },
  };
}

const ROOTS = { method: 'roots/list', params: {} };
const nameForm = (message: string) => form(message, { name: { type: 'string' } }, ['name']);
const confirmForm = form('Please confirm', { ok: { type: 'boolean' } }, ['ok']);

/** Returns a member of an accepted form. */
function field(answer: Given[string] | undefined, name: string): unknown {
  const content = answer?.['content'];
  return typeof content === 'object' && content !== null ? Object(content)[name] : undefined;
}

function modelSaid(answer: Given[string] | undefined): string {
  return String(field(answer, 'text') ?? 'nothing');
}

function rootsIn(answer: Given[string] | undefined): number {
  const roots = answer?.['roots'];
  return Array.isArray(roots) ? roots.length : 0;
}

/** Asks a form and answers with a sentence about its result. */
export function asking(requests: (input: Answers) => object, words: string): Ask {
  return (input, { form: answer }) =>
    answer
      ? text(
          `${words}: action=${String(answer['action'])}, content=${JSON.stringify(answer['content'] ?? {})}`,
        )
      : ask({ form: requests(input) });
}

/** Tools and prompts that ask their client or repeat their input, by name. */
export const QUESTIONS: { [name: string]: Ask } = {
  test_sampling: ({ prompt }, { sample }) =>
    sample ? text(`LLM response: ${modelSaid(sample)}`) : ask({ sample: sampling(String(prompt), 100) }),
  test_elicitation: asking(
    ({ message }) =>
      form(String(message), { response: { type: 'string', description: "User's response" } }, ['response']),
    'User response',
  ),
  test_missing_capability: (_input, { sample }) =>
    sample ? text('Success') : ask({ sample: sampling('Say something.', 50) }),
  test_input_required_result_elicitation: (_input, { user_name }) =>
    user_name
      ? text(`Hello, ${String(field(user_name, 'name') ?? 'unknown')}!`)
      : ask({ user_name: nameForm('What is your name?') }),
  test_input_required_result_sampling: (_input, { sample_request }) =>
    sample_request
      ? text(`Sampling result: ${modelSaid(sample_request)}`)
      : ask({ sample_request: sampling('What is the capital of France?', 100) }),
  test_input_required_result_list_roots: (_input, { client_roots }) =>
    client_roots ? text(`Found ${rootsIn(client_roots)} root(s)`) : ask({ client_roots: ROOTS }),
  test_input_required_result_request_state: (_input, { confirm }, state) =>
    confirm && state?.includes('request-state') && field(confirm, 'ok') === true
      ? text('state-ok: requestState validated')
      : ask({ confirm: confirmForm }, { kind: 'request-state' }),
  test_input_required_result_multiple_inputs: (_input, given) => {
    const { user_name, greeting, client_roots } = given;
    return user_name && greeting && client_roots
      ? text(
          `Name: ${String(field(user_name, 'name'))}; Greeting: ${modelSaid(greeting)}; Roots: ${rootsIn(client_roots)}`,
        )
      : ask(
          {
            user_name: nameForm('What is your name?'),
            greeting: sampling('Generate a greeting', 50),
            client_roots: ROOTS,
          },
          { kind: 'multiple-inputs' },
        );
  },
  test_input_required_result_multi_round(_input, { step1, step2 }, state) {
    const before: Answers = state === undefined ? {} : JSON.parse(state);
    if (before['round'] === 2 && step2)
      return text(
        `Multi-round complete for ${String(before['name'])} who likes ${String(field(step2, 'color'))}`,
      );
    if (before['round'] === 1 && step1) {
      const color = form('Step 2: What is your favorite color?', { color: { type: 'string' } }, ['color']);
      return ask({ step2: color }, { round: 2, name: field(step1, 'name') });
    }
    return ask({ step1: nameForm('Step 1: What is your name?') }, { round: 1 });
  },
  test_input_required_result_tampered_state: (_input, { confirm }, state) =>
    confirm && state?.includes('tamper-test')
      ? text('integrity-ok: state verified')
      : ask({ confirm: confirmForm }, { kind: 'tamper-test' }),
  test_input_required_result_capabilities: (_input, { elicit_input, sample_input }) =>
    elicit_input || sample_input
      ? text('capabilities-ok')
      : ask(
          {
            elicit_input: form('Elicitation input', { value: { type: 'string' } }, ['value']),
            sample_input: sampling('Sample request', 50),
          },
          { kind: 'capabilities-test' },
        ),
  test_prompt_with_embedded_resource: ({ resourceUri }) => ({
    messages: [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: {
            uri: String(resourceUri),
            mimeType: 'text/plain',
            text: 'Embedded resource content for testing.',
          },
        },
      },
      userSays('Please process the embedded resource above.'),
    ],
  }),
  greet: ({ name }) => text(`Hello, ${String(name)}!`),
  slow_compute: ({ seconds, label }) => text(`${String(label ?? 'It')} took ${String(seconds)} s.`),
  // The client of the scenario declares no roots, which is an error of the protocol.
  protocol_error_job: (_input, { client_roots }) =>
    client_roots ? text(`Found ${rootsIn(client_roots)} root(s)`) : ask({ client_roots: ROOTS }),
  confirm_delete: ({ filename }, { confirm }) =>
    confirm
      ? text(
          field(confirm, 'confirm') === true
            ? `Deleted ${String(filename)}.`
            : `${String(filename)} stays: ${String(confirm['action'])}.`,
        )
      : ask({ confirm: form(`Delete ${String(filename)}?`, { confirm: { type: 'boolean' } }, ['confirm']) }),
  multi_input: (_input, { first, second }) =>
    first && second
      ? text(`Names: ${String(field(first, 'name'))}, ${String(field(second, 'name'))}`)
      : ask({ first: nameForm('What is the first name?'), second: nameForm('What is the second name?') }),
  test_tool_with_task: (_input, { user_name }) =>
    user_name
      ? text(`Hello, ${String(field(user_name, 'name') ?? 'unknown')}!`)
      : ask({ user_name: nameForm('What is your name?') }),
  test_input_required_result_prompt: (_input, { user_context }) =>
    user_context
      ? {
          messages: [userSays(`Prompt with context: ${String(field(user_context, 'context'))}`)],
        }
      : ask({
          user_context: form('What context should the prompt use?', { context: { type: 'string' } }, [
            'context',
          ]),
        }),
};
