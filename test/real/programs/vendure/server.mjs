import { createServer } from 'node:http';
import { bootstrap, DefaultLogger, dummyPaymentHandler, LanguageCode, LogLevel } from '@vendure/core';
import { populate } from '@vendure/core/cli/index.js';

const { PORT, READY_PORT, DATABASE_URL, USERNAME, PASSWORD } = process.env;
const config = {
  apiOptions: { hostname: '127.0.0.1', port: Number(PORT) },
  authOptions: {
    tokenMethod: ['bearer'],
    superadminCredentials: { identifier: USERNAME, password: PASSWORD },
  },
  dbConnectionOptions: { type: 'postgres', url: DATABASE_URL, synchronize: true, logging: false },
  logger: new DefaultLogger({ level: LogLevel.Error, timestamp: false }),
  paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
};
const shop = {
  defaultLanguage: LanguageCode.en,
  defaultZone: 'Europe',
  countries: [{ name: 'Germany', code: 'DE', zone: 'Europe' }],
  taxRates: [{ name: 'Standard', percentage: 20 }],
  shippingMethods: [{ name: 'Parcel', price: 500 }],
  paymentMethods: [],
  collections: [],
};
await populate(() => bootstrap(config), shop);
createServer((_, answer) => answer.end('ready')).listen(Number(READY_PORT), '127.0.0.1');
