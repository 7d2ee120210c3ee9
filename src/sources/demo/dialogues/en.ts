import { type Dialogues, script } from './script.ts';

export const en: Dialogues = {
  language: 'en',
  gap: ' ',
  greetings: ['Hi there,', 'Hello,', 'Good morning!', 'Hey Larkspur team,', 'Hi, hope you can help.'],
  thanks: ['Perfect, thank you so much!', 'Great, that is all I needed.', 'Thanks for sorting this out so quickly.'],
  goodbyes: [
    'Happy to help. Enjoy the trip!',
    'You are welcome, {name}. See you on the trail.',
    'Any time. Just reply here if something else comes up.',
  ],
  cities: ['Boston', 'Portland', 'Asheville', 'Denver', 'Madison', 'Dublin', 'Leeds'],
  form: ['Name', 'E-mail', 'How can we help?'],
  date: (day, month) => `${month}/${day}`,
  amount: (whole, cents, currency) => `${currency === 'USD' ? '$' : '€'}${whole}.${cents}`,
  scripts: [
    script(
      'Delivery',
      'Where is order {order}?',
      `v: order {order} was supposed to be here on {date} and tracking has not moved since. Is my {pack} lost?
      b: I am sorry about the wait. Order {order} left our warehouse and the last scan is in {city}. Shall I ask a colleague to open a search with the carrier?
      v: Yes please. I fly on Saturday and I need the pack before then.
      a: Hi {name}, {agent} here. I have opened a search with the carrier under {ticket}. They answer within one working day.
      v: And if they do not find it in time?
      a: Then I send a second {pack} by express tomorrow at noon, at no cost to you. You will not fly without it.`,
    ),
    script(
      'Refund',
      'Refund for returned {jacket}',
      `v: I returned a {jacket} two weeks ago and still have not seen the {amount} on my card.
      b: Returns are refunded within five working days of arriving. Could you tell me the order number?
      v: It is {order}. The parcel was signed for on {date}.
      a: Thanks {name}, I can see the parcel. It was checked in but nobody released the refund, which is our mistake.
      a: I have released {amount} just now. Your bank usually shows it within three days.
      v: Will I get something in writing?
      a: Yes, a credit note is on its way to the address on your account.`,
    ),
    script(
      'Sizing',
      'Which size for {shoe}?',
      `v: I am between sizes and cannot decide on the {shoe}. I wear {size} in street shoes.
      b: For the {shoe} most customers take half a size up if they hike with thick socks. Would you like the measuring chart?
      v: I have the chart. My question is about the width, I have wide feet.
      a: Hi {name}! The last is on the narrow side, so I would go one full size up and lace it loosely over the instep.
      v: Can I send them back if that turns out wrong?
      a: Of course, 60 days, as long as they were only worn indoors.`,
    ),
    script(
      'Warranty',
      'Broken pole on {tent}',
      `v: one pole segment of my {tent} split on the second night out. It is about a year old.
      b: That should not happen. Our tents carry a five year warranty. Can you send a photo of the damage and the order number?
      v: Order {order}. The photo is attached.
      a: Thank you, {name}. That is a material fault, clearly covered. Would you like a single segment or the full pole set?
      v: The full set if possible, I do not trust the other one either.
      a: Done. The set ships on {date} and you can keep the old poles as spares.`,
    ),
    script(
      'Invoice',
      'Invoice for {order}',
      `v: my employer needs an invoice with our company name for {order}. The one in my account only shows my own name.
      b: You can change the billing name within 30 days in your account under Orders. Is the order older than that?
      v: It is from last quarter, so the button is grey.
      a: No problem, {name}. What is the exact company name and tax number?
      v: Alder & Finch Expeditions LLC, I have put the number into the attached document.
      a: The corrected invoice over {amount} is in your inbox. The old one is void.`,
    ),
    script(
      'Login',
      'Cannot sign in',
      `v: the site keeps saying my password is wrong, and the reset mail never arrives.
      b: Reset mails sometimes land in the spam folder. They come from noreply@larkspur.example. Could you check there?
      v: Nothing there either. I tried three times.
      a: Hello {name}, I see what happened: the account uses an older address of yours, so the mails go there.
      v: Oh! That mailbox is long gone.
      a: I have sent a confirmation link to the address you write from. After you click it, the account moves over.`,
    ),
    script(
      'Exchange',
      'Swap {jacket} for another size',
      `v: can I swap the {jacket} from order {order} for one size smaller? The sleeves cover my hands.
      b: Yes, exchanges are free within 60 days. Do you want the same colour?
      v: Same colour, please. Moss green.
      b: Moss green in the smaller size is in stock. I have reserved one and sent a return label by e-mail.
      v: Do I have to wait for the return to arrive before you ship?
      a: No, {name}. The new one leaves today, and you have 14 days to send the other back.`,
    ),
    script(
      'Payment',
      'Charged twice',
      `v: my statement shows {amount} twice for the same order, {order}.
      b: I am sorry, that looks alarming. A second line is often a reservation that disappears after a few days. When did you order?
      v: On {date}, so more than a week ago. Both lines say completed.
      a: I have checked with payments, {name}. The first attempt timed out and was booked all the same. I have reversed it under {ticket}.
      v: How long until I see it?
      a: Two to four working days, depending on the bank.`,
    ),
    script(
      'Stock',
      'When is {product} back?',
      `v: the {product} has been out of stock for a month. Any idea when it returns?
      b: The next delivery is planned for the week of {date}. Would you like a message when it is here?
      v: Yes. Can I reserve one? Last time it sold out in two days.
      a: I have put your name on one of them, {name}. We hold it for 72 hours once it arrives, no payment needed before.`,
    ),
    script(
      'Product advice',
      'Tent for two and a dog',
      `v: we are planning nine days in the hills with a large dog. Is the {tent} enough for two people and him?
      b: The floor of the {tent} is 135 cm wide. For two adults and a dog we usually suggest the next size up.
      v: The next size up is 600 grams heavier. Is there a middle way?
      a: Hi {name}, from experience: take the {tent} with the porch extension. The dog sleeps in the porch and you stay under three kilos.
      v: Does the extension fit the older model too?
      a: It fits everything made since the second version. Look for a blue tag at the door.`,
    ),
    script(
      'Cancellation',
      'Please cancel {order}',
      `v: I ordered the wrong colour ten minutes ago. Can you cancel {order} before it ships?
      b: I have asked the warehouse to hold {order}. One moment please.
      b: Good news, it had not been packed. The order is cancelled and the {amount} was never charged.
      v: That was fast. I will order again then.`,
    ),
  ],
};
