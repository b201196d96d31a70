import { expect, test } from 'vitest';
import { buildRequest } from '../../src/upstream/request.ts';
import { callOf } from '../support/upstream.ts';

/** The request of a call, signed with the keys of the published examples. */
async function signed(
  action: string,
  given: { baseUrl: string; service: string; at: string; secret: string; id: string },
) {
  const { baseUrl, service, at, secret, id } = given;
  const call = callOf(
    {
      baseUrl,
      action,
      authentication: `{type: custom, fields: {id: {title: Id}, key: {title: Key, secret: true}},
       sign: {type: aws_sigv4, accessKeyId: '{id}', secretAccessKey: '{key}', region: us-east-1, service: ${service}}}`,
    },
    { values: { id, key: secret } },
  );
  const { url, headers } = await buildRequest(call, Date.parse(at));
  return { url, signature: /Signature=(\w+)$/.exec(headers['authorization'] ?? '')?.[1], headers };
}

const SUITE = {
  baseUrl: 'https://example.amazonaws.com',
  service: 'service',
  at: '2015-08-30T12:36:00Z',
  id: 'AKIDEXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const S3 = {
  baseUrl: 'https://examplebucket.s3.amazonaws.com',
  service: 's3',
  at: '2013-05-24T00:00:00Z',
  id: 'AKIAIOSFODNN7EXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};

test.each([
  ['get-vanilla', 'request: GET /', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  ['post-vanilla', 'request: POST /', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'get-vanilla-query-order-key-case',
    'request: GET /\nfixed: {query: {Param2: value2, Param1: value1}}',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-unreserved',
    'request: GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
    '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
  ],
])('the request %s of the test suite of AWS is signed right', async (_name, action, signature) => {
  const { headers, ...found } = await signed(action, SUITE);
  expect(found.signature).toBe(signature);
  expect(headers['authorization']).toContain(
    'Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request',
  );
});

test.each([
  [
    'a file with a range',
    'request: GET /test.txt\nfixed: {headers: {Range: bytes=0-9}}',
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'a parameter without a value',
    "request: GET /\nfixed: {query: {lifecycle: ''}}",
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a list',
    'request: GET /\nfixed: {query: {max-keys: 2, prefix: J}}',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])('the request %s of the documentation of S3 is signed right', async (_name, action, signature) => {
  expect((await signed(action, S3)).signature).toBe(signature);
});

test('the query is sent as it was signed', async () => {
  const { url } = await signed("request: GET /\nfixed: {query: {b: 'x y*', a: 'é~'}}", SUITE);
  expect(url).toBe('https://example.amazonaws.com/?a=%C3%A9~&b=x%20y%2A');
});
