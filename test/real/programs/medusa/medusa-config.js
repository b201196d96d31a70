const { defineConfig } = require('@medusajs/framework/utils');

const cors = 'http://127.0.0.1';
const http = { storeCors: cors, adminCors: cors, authCors: cors, jwtSecret: 'test', cookieSecret: 'test' };
module.exports = defineConfig({
  projectConfig: { databaseUrl: process.env.DATABASE_URL, http },
  admin: { disable: true },
});
