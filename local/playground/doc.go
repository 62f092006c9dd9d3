// Package playground is a receiver of webhooks for one's own machine: it verifies what
// arrives as events/receiver does, tells what it makes of it, and can be told to fail.
//
//	POST /fail       so many words, one for each of the next requests; without any it
//	                 forgets those that it has → {"planned":n}
//	GET  /received   {"received":[…]}, the latest requests, oldest first
//	POST /…          a webhook, at any other address
//
// A word is what becomes of a request:
//
//	500       this status, 200 to 599, and nothing is stored; 3xx lead to /moved
//	429/30    the same with Retry-After
//	hang      no answer, for as long as the sender waits
//	reset     the connection is reset
//	lost      it is stored, and then the connection is reset: the answer is lost
//	ok        it is stored, as every request for which there is no word
package playground
