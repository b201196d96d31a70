/** The reason why a file cannot be checked or written. The message is for the author, one line for each fault. */
export class AuthorError extends Error {
  override readonly name = 'AuthorError';
}
