import type { Answers } from './everything-questions.ts';

/** A red dot as PNG. */
const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A short silence as WAV. */
const AUDIO = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const image = { type: 'image', data: IMAGE, mimeType: 'image/png' };
const text = (words: string) => ({ type: 'text', text: words });
const resource = (uri: string, mimeType: string, words: string) => ({
  type: 'resource',
  resource: { uri, mimeType, text: words },
});

/** Tools with a constant answer. */
export const FIXED: { [tool: string]: Answers } = {
  test_simple_text: { content: [text('This is a simple text response for testing.')] },
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: 'audio', data: AUDIO, mimeType: 'audio/wav' }] },
  test_embedded_resource: {
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  },
  test_multiple_content_types: {
    content: [
      text('Multiple content types test:'),
      image,
      resource(
        'test://mixed-content-resource',
        'application/json',
        JSON.stringify({ test: 'data', value: 123 }),
      ),
    ],
  },
  test_error_handling: {
    isError: true,
    content: [text('This tool intentionally returns an error for testing')],
  },
};

/** Prompts with answers built from their arguments. */
export const PROMPTS: { [prompt: string]: (input: { [argument: string]: unknown }) => Answers } = {
  test_prompt_with_embedded_resource: ({ resourceUri }) => ({
    messages: [
      {
        role: 'user',
        content: resource(String(resourceUri), 'text/plain', 'Embedded resource content for testing.'),
      },
      { role: 'user', content: text('Please process the embedded resource above.') },
    ],
  }),
  test_prompt_with_image: () => ({
    messages: [
      { role: 'user', content: image },
      { role: 'user', content: text('Please analyze the image above.') },
    ],
  }),
};

/** Files that clients read as resources. */
export const FILES: { [name: string]: { type: string; content: string | Buffer } } = {
  'static-text': { type: 'text/plain', content: 'This is the content of the static text resource.' },
  'static-binary': { type: 'image/png', content: Buffer.from(IMAGE, 'base64') },
  'watched-resource': { type: 'text/plain', content: 'Watched resource content' },
};
