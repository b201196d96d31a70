import type { Language } from './lexicon.ts';

/**
 * English words for the things and the work of apps. Words for one action only stand in the `synonyms` of its connector
 * file. A line begins with the name of the concept, which all languages share. A phrase matches only as a whole. Other
 * words may be at its `…`. kindsOf() derives an action's own kind of work from its effect and method.
 */
export const ENGLISH: Language = {
  things: `
customer: customer, client, buyer, shopper, patron, payer, purchaser
supplier: supplier, vendor, seller
contact: contact, person, people, lead, prospect, address book
company: company, organization, organisation, firm, business, employer, account
user: user, member, teammate, colleague, employee, staff, team, coworker, people, seat
order: order, purchase, sale, buy, bought, sell, sold
item: item, product, article, goods, merchandise, sku, catalog, catalogue
variant: variant, variation, size, option
stock: stock, inventory, quantity, available, left, count, counted, shelf, warehouse, in stock, running low, run out, out of stock, low on, level, levels
price: price, cost, rate, pricing, charge
shop: shop, store, storefront
location: location, branch, address, place, site
shipment: shipment, shipping, parcel, package, delivery, tracking, fulfillment, fulfilment, dispatch, shipped, courier, unshipped, ship
invoice: invoice, bill
bill: bill, expense, payable
payment: payment, charge, transaction, pay, paid, card payment, receipt, sell, sold, sale
refund: refund, pay back, pay … back, money back, paid back, give … back, reimburse, repay, return
subscription: subscription, subscribe, subscriber, plan, recurring, membership, billing
estimate: estimate, quote, quotation, offer, proposal
balance: balance, funds, money
report: report, statement, statistics, profit and loss, balance sheet, trial balance, p l
profit: profit, profit and loss, loss, p l, make money, making money, earn, earnings, income, how did we do, revenue, business, sales figures, bottom line, turnover, doing well
balance sheet: balance sheet, assets, liabilities, net worth, own and owe, owns and owes
overdue: overdue, late, owe, owed, owing, unpaid, outstanding, receivable, debt, due, past due, not paid, not been paid, arrears, pay us, owes
tax: tax, vat, gst, duty
bank: bank, bank account, bank transaction
deal: deal, opportunity, sales opportunity, sale
ticket: ticket, case, support request, complaint, help request, support, unhappy, angry, complain, problem
lead: lead, prospect
pipeline: pipeline, stage, funnel
task: task, to do, todo, reminder, remind, follow up, on my plate, deadline, chore, my day, do today, on today, my plan
note: note, remark, memo, log
comment: comment, remark, reply, feedback, note, chime in, remark
message: message, post, chat, dm, text, say, said, saying, talk, talked, line, word, wrote, written, announcement, let … know, tell, inform, notify, announce, remind, ping, shout, give … shout, give … heads up, drop … line, drop … note, reach out, get in touch, write to, write to me, wrote to me, written to me, wrote me, written me, contacted me
mail: mail, email, e mail, message, inbox, letter, wrote, new mail, newsletter
thread: thread, conversation, discussion, reply
channel: channel, room, group
attachment: attachment, attach, enclosed, file
label: label, tag, category, folder
draft: draft, prepare, unsent
trash: trash, bin, recycle bin, deleted
reaction: reaction, emoji, react, thumbs up, like
event: event, meeting, appointment, booking, date, call, entry, get together, gathering, invite, my day, do today, on today, my plan
meeting: meeting, call, session, video call, conference, event
webinar: webinar, seminar
participant: participant, attendee, guest, invitee, attend, registrant, attendance, showed up, attended, took part, joined, came, guest list
registrant: registrant, sign up, signed up, registered, register, attendee
recording: recording, transcript, record, recorded, video
invitation: invitation, invite
calendar: calendar, schedule, diary, agenda
free: free, busy, availability, available, free slot, free time
absence: absence, out of office, vacation, holiday, away, automatic reply, auto reply, out of office message, ooo
file: file, document, doc, spreadsheet, sheet, pdf, presentation, contract, slides, deck, picture, image, photo
folder: folder, directory
storage: storage, space, room, quota, disk
permission: permission, read access, edit access, write access, access, right, sharing, share, can see, can edit
link: link, url, address
version: version, revision, history
page: page, document, wiki, note
table: table, database, data source, tracker, spreadsheet, grid, base
block: block, paragraph, checkbox, bullet, tick
repository: repository, repo, project, codebase
issue: issue, bug, bug report, ticket, defect, assigned to me
pull request: pull request, merge request, pr, mr, code review, mr, merge requests
branch: branch
commit: commit, change, changeset
diff: diff, changed files, changes, patch
release: release, version, publish
build: build, ci, workflow run, job, pipeline, deploy, deployment, test run, failed, broke, broken, red, log, action, check
field: field, column, property, attribute, columns
code: code, source
limit: limit, allowance, quota
coupon: coupon, voucher, discount, promo code, discount code, percent off
category: category, collection, department
credit note: credit note, credit memo, credit
purchase order: purchase order
journal: journal, journal entry, ledger entry
dispute: dispute, chargeback
payout: payout, paid out
campaign: campaign
best seller: best seller, top seller, bestseller, best selling, sells best, sell best, sold best, sells most, popular
notification: notification, alert
template: template
review: review, reviewer, approval
status: status, state, presence
bookmark: bookmark
pin: pin, pinned
log: log, error, why, failed
`,
  work: `
read: show, say, tell, see, view, display, what, which, who, where, when, how, tell me, give me, check, look, any, find out, read, is there, do i have, get, whose, why, whats, hows, need, look at, did, are we, happening, take, grab, fetch, pull up, bring up, open up, retrieve, obtain, collect, peek, glance, dig out, inspect, wheres, write to me, wrote to me, written to me, wrote me, written me, contacted me, get … news
list: list, all, every, browse, overview, enumerate, which, many, any, latest, recent, last, newest, oldest, most recent
search: search, find, look for, look up, lookup, locate, query, where, need, hunt, dig up, track down
new: new, another
create: create, add, make, open, put it in, put it into, put it on, put them in, put them into, set up, start, write, put, insert, register, log, record, enter, file, book, place, build, issue, plan, save, prepare, sign up, leave, give, issue, raise, generate, enroll, enter, type up, draft
update: update, change, edit, modify, rename, set, move, correct, fix, adjust, mark, replace, raise, lower, reschedule, push back, assign, approve, close, reopen, turn, tick, turn on, turn off, switch, increase, decrease, put … back, label, sort, complete, finish
delete: delete, remove, erase, wipe, get rid of, drop, discard, destroy, take … off, clear, scrap, throw … away, threw … away, purge, bin
cancel: cancel, call … off, abort, void, stop, end, terminate, revoke, unsubscribe, quit, scrap, withdraw
send: send, deliver, dispatch, forward, email, mail, tell, notify, let … know, post, message, write, drop … line, drop … note, ping, shout, give … shout, give … heads up, inform, announce, remind, ask, write to, get in touch, reach out, say, tell, share … news, text, message, tip … off
forward: forward, pass … on, relay, hand … on
reply: reply, answer, respond, response, get back to, write back, come back to, chime in
restore: restore, recover, bring … back, undo, undelete, get … back, take … out, go back, by mistake, by accident, accidentally
download: download, export, fetch, pull, content, get
upload: upload, import, save, put, attach, add … file
share: share, read access, edit access, write access, give … access, let … see, let … edit, let … read, publish, visible, give … read, give … edit, give … rights
revoke: revoke, stop … seeing, stop sharing, unshare, take … right, remove … access, no longer see, no longer, any more, anymore, block, take away
copy: copy, duplicate, clone
run: run, start, trigger, kick off, launch, execute, deploy
retry: retry, rerun, again, repeat
move: move, put … into, put … under, file … under, transfer, relocate
archive: archive, close, shut down, hide
merge: merge, accept, land
schedule: schedule, later, tomorrow, set up, plan, book, arrange, get … together, organise, organize
invite: invite, add … to, bring … into
approve: approve, accept, sign off, looks good, lgtm
refund: refund, pay back, pay … back, money back, give … back, reimburse, repay
comment: comment, chime in, leave … remark, leave … comment
`,
  /** Words without meaning for a search. They are removed after phrases are matched. */
  empty:
    'a about again all also am an and any are as at be because been but by can could did do does doing for from had has have ' +
    'he her here him his i if in into is it its just let like may me mine much my need no not now of off on one only or our ' +
    'ours out over please she should so some somebody someone something than thank thanks that the their them then there ' +
    'these they thing this those to today tomorrow too up us very want was we were will with would yesterday you your yet still who whom which really get got going gone im ill well whole back lunch ready budget unread',
  not: 'not no never without dont doesnt didnt isnt arent wasnt havent hasnt cannot cant wont nobody',
  and: 'and',
  further: 'then afterwards',
  but: 'but just only instead',
  content: 'that if whether about regarding because',
  ask: 'who, what, which, when, where, why, whose, whats, whos, how many, how much, how often, did, does, is, are, was, were, has, anyone, anybody, any',
  can: 'can could should would will shall may',
  wish: 'want wants wanted need needs get should must please make let lets',
  state: /(?:ed|sent|made|written|wrote|given|taken)$/,
  before: 'the a an my our your his her their this that these those all every each',
};
