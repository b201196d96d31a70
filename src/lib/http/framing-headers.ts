/** Headers of one connection (RFC 9110 section 7.6.1), and headers that frame a message. Only the sender sets them. */
export const FRAMING_HEADERS: readonly string[] = [
  'connection',
  'content-length',
  'cookie',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];
