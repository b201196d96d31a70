import FilesAdapter from '@parse/fs-files-adapter';
import express from 'express';
import { ParseServer } from 'parse-server';

const { PORT, DATABASE_URL, KEYS } = process.env;
const server = new ParseServer({
  ...JSON.parse(KEYS),
  databaseURI: DATABASE_URL,
  serverURL: 'http://127.0.0.1:' + PORT + '/parse',
  masterKeyIps: ['127.0.0.1'],
  allowClientClassCreation: true,
  filesAdapter: new FilesAdapter(),
  fileUpload: { enableForPublic: true },
  cloud: (Parse) => Parse.Cloud.define('greet', ({ params }) => 'Hello ' + params.name),
  logLevel: 'error',
  silent: true,
});
await server.start();
express().use('/parse', server.app).listen(Number(PORT), '127.0.0.1');
